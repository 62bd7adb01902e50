#include "base/free_memory.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace agent_graph {
namespace {

struct Held {
  std::string text;
  std::vector<int> numbers;
};

TEST(FreeMemory, FreesAString) {
  std::string text(1000, 'x');
  FreeMemory(text);
  EXPECT_EQ(text, "");
  EXPECT_EQ(text.capacity(), std::string().capacity());
}

TEST(FreeMemory, FreesTheMembersOfAStruct) {
  Held held{std::string(1000, 'x'), std::vector<int>(1000)};
  FreeMemory(held);
  EXPECT_EQ(held.text.capacity(), std::string().capacity());
  EXPECT_EQ(held.numbers.capacity(), 0U);
}

}  // namespace
}  // namespace agent_graph

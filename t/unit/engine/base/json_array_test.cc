#include "base/json_array.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"

namespace agent_graph {
namespace {

TEST(JsonArrayTest, SeparatesWhatTheFunctionAppends) {
  std::string out = "{\"a\":";
  AppendJsonArray(out, std::vector<std::string>{"x", "", "\""}, AppendJsonString);
  EXPECT_EQ(out, R"({"a":["x","","\""])");
}

TEST(JsonArrayTest, OfNoItemsIsEmpty) {
  std::string out;
  AppendJsonArray(out, std::vector<int>{}, [](std::string& text, int) { text += "never"; });
  EXPECT_EQ(out, "[]");
}

}  // namespace
}  // namespace agent_graph

#include "state/search/text_index.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "../../base/colliding_words.h"

namespace agent_graph::state {
namespace {

TEST(TextIndex, CountsEachWordOfATextOnce) {
  TextIndex index;
  index.Add("tea and more tea, and teas");
  index.Add("coffee");
  const std::vector<float> tea = index.Scores("tea tea");
  EXPECT_GT(tea[0], 0);
  EXPECT_EQ(tea[1], 0);
  EXPECT_EQ(index.Scores("tea"), tea);
  EXPECT_GT(tea[0], index.Scores("more")[0]);
}

// Both are measured here, side by side; a table with one bucket is more than ten times slower.
TEST(TextIndex, TakesNoLongerForWordsThatCollide) {
  constexpr size_t kWords = 2'000;
  constexpr int kSlower = 4;
  const auto measure = [](const std::string& text) {
    return testing::FastestNanoseconds([&text] { TextIndex().Add(text); });
  };
  const std::string colliding = testing::CollidingWords(
      kWords, [](std::string_view word) { return std::hash<std::string_view>()(word); });
  EXPECT_LT(measure(colliding), kSlower * measure(testing::PlainWords(kWords)));
}

}  // namespace
}  // namespace agent_graph::state

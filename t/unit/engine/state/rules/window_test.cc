#include "state/rules/window.h"

#include <gtest/gtest.h>

#include <string>

#include "state/limits.h"

namespace agent_graph::state {
namespace {

// Returns the number, from 1 on, of the first message that a window of these roles keeps.
uint64_t FirstAfterTrim(const std::string& roles, uint64_t items_max) {
  return 1 +
         FirstKeptItem(roles.size(), items_max, [&](size_t item) { return roles[item] == 'u'; });
}

TEST(FirstKeptItem, StartsAtAUserMessage) {
  EXPECT_EQ(FirstAfterTrim("uaua", 4), 1u);
  EXPECT_EQ(FirstAfterTrim("uauau", 4), 3u);
  EXPECT_EQ(FirstAfterTrim("uaaua", 4), 4u);
  EXPECT_EQ(FirstAfterTrim("uauaaaa", 2), 3u) << "a turn longer than the window stays whole";
  EXPECT_EQ(FirstAfterTrim("aaaa", 2), 3u) << "no user message: the count decides";
  EXPECT_EQ(FirstAfterTrim("uu", 0), 2u);
}

TEST(FirstKeptItem, NeverExceedsTheHardBound) {
  EXPECT_EQ(FirstAfterTrim("u" + std::string(kWindowItemsMax + 5, 'a'), 10),
            kWindowItemsMax + 6 - 10 + 1);
  EXPECT_EQ(FirstAfterTrim(std::string(kWindowItemsMax + 5, 'u'), ~uint64_t{0}), 6u);
}

}  // namespace
}  // namespace agent_graph::state

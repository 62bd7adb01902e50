#include "state/leveldb/stored_json.h"

#include <gtest/gtest.h>

#include "state/leveldb/rows.h"

namespace agent_graph::state {
namespace {

TEST(IsFromUser, LooksAtTheTopLevelRoleOnly) {
  EXPECT_TRUE(IsFromUser(R"({"role":"user"})"));
  EXPECT_TRUE(IsFromUser(R"({"content":[{"role":"x","a":"\"role\":\\"}], "role" : "user"})"));
  EXPECT_FALSE(IsFromUser(R"({"content":[{"role":"user"}],"role":"assistant"})"));
  EXPECT_FALSE(IsFromUser(R"({"content":"\"role\":\"user\""})"));
  EXPECT_FALSE(IsFromUser(R"({"kind":"role","x":"user"})"));
  EXPECT_FALSE(IsFromUser(R"({"a":"role", "role":"tool"})"));
  EXPECT_FALSE(IsFromUser("{\"unterminated"));
  EXPECT_FALSE(IsFromUser("{\"escaped\\"));
  EXPECT_FALSE(IsFromUser(""));
}

TEST(MergeJsonObjects, IsBounded) {
  const std::string big = R"({"a":")" + std::string(kThreadJsonBytesMax, 'x') + R"("})";
  EXPECT_EQ(MergeJsonObjects("{}", big, "state").status().code(), StatusCode::kInvalidArgument);
}

WindowRow WindowOf(const std::string& roles) {
  WindowRow window;
  for (size_t i = 0; i < roles.size(); ++i) {
    window.items.push_back(WindowRow::Item(i + 1, roles[i] == 'u'));
  }
  return window;
}

uint64_t FirstAfterTrim(const std::string& roles, uint64_t items_max) {
  WindowRow window = WindowOf(roles);
  TrimWindow(window, items_max);
  return window.items.empty() ? 0 : WindowRow::Sequence(window.items.front());
}

TEST(TrimWindow, StartsAtAUserMessage) {
  EXPECT_EQ(FirstAfterTrim("uaua", 4), 1u);
  EXPECT_EQ(FirstAfterTrim("uauau", 4), 3u);
  EXPECT_EQ(FirstAfterTrim("uaaua", 4), 4u);
  EXPECT_EQ(FirstAfterTrim("uauaaaa", 2), 3u) << "a turn longer than the window stays whole";
  EXPECT_EQ(FirstAfterTrim("aaaa", 2), 3u) << "no user message: the count decides";
  EXPECT_EQ(FirstAfterTrim("uu", 0), 2u);
}

TEST(TrimWindow, NeverExceedsTheHardBound) {
  EXPECT_EQ(FirstAfterTrim("u" + std::string(kWindowItemsMax + 5, 'a'), 10),
            kWindowItemsMax + 6 - 10 + 1);
  EXPECT_EQ(FirstAfterTrim(std::string(kWindowItemsMax + 5, 'u'), ~uint64_t{0}), 6u);
}

}  // namespace
}  // namespace agent_graph::state

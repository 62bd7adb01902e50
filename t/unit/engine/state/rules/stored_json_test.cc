#include "state/rules/stored_json.h"

#include <gtest/gtest.h>

#include "state/limits.h"

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

}  // namespace
}  // namespace agent_graph::state

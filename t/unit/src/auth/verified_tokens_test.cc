#include "auth/verified_tokens.h"

#include <gtest/gtest.h>

#include <string>

#include "agent_graph/json.h"
#include "auth/jwt.h"

namespace agent_graph::auth {
namespace {

constexpr double kNow = 1'000'000;

json Claims(const std::string& user) {
  return {{"user_id", user}, {"exp", kNow + 60}, {"nbf", kNow - 10}};
}

TEST(VerifiedTokens, KnowsWhatWasPutThere) {
  VerifiedTokens tokens;
  EXPECT_EQ(tokens.Find("a.b.c", kNow), nullptr);
  tokens.Put("a.b.c", Claims("alice"));
  tokens.Put("a.b.d", Claims("bob"));
  ASSERT_NE(tokens.Find("a.b.c", kNow), nullptr);
  EXPECT_EQ(*tokens.Find("a.b.c", kNow), Claims("alice"));
  EXPECT_EQ(*tokens.Find("a.b.d", kNow), Claims("bob"));
  EXPECT_EQ(tokens.Find("a.b.cx", kNow), nullptr);
  EXPECT_EQ(tokens.Find("a.b.", kNow), nullptr);
}

TEST(VerifiedTokens, ForgetsATokenWhenItExpires) {
  VerifiedTokens tokens;
  tokens.Put("a", Claims("alice"));
  EXPECT_NE(tokens.Find("a", kNow + 59.9), nullptr);
  EXPECT_EQ(tokens.Find("a", kNow + 60), nullptr);
  EXPECT_EQ(tokens.size(), 0u);
  EXPECT_EQ(tokens.Find("a", kNow), nullptr);
}

TEST(VerifiedTokens, ChecksAgainWhenTheClockWasSetBack) {
  for (const char* name : {"nbf", "iat"}) {
    VerifiedTokens tokens;
    tokens.Put("a", {{"user_id", "alice"}, {"exp", kNow + 60}, {name, kNow}});
    EXPECT_NE(tokens.Find("a", kNow - kClockLeewaySeconds), nullptr) << name;
    EXPECT_EQ(tokens.Find("a", kNow - kClockLeewaySeconds - 1), nullptr) << name;
  }
}

TEST(VerifiedTokens, KeepsTheLatestOfThem) {
  VerifiedTokens tokens(2);
  tokens.Put("a", Claims("a"));
  tokens.Put("b", Claims("b"));
  EXPECT_NE(tokens.Find("a", kNow), nullptr);
  tokens.Put("c", Claims("c"));
  EXPECT_EQ(tokens.size(), 2u);
  EXPECT_EQ(tokens.Find("b", kNow), nullptr);
  EXPECT_NE(tokens.Find("a", kNow), nullptr);
  EXPECT_NE(tokens.Find("c", kNow), nullptr);
  tokens.Put("c", Claims("c"));
  EXPECT_EQ(tokens.size(), 2u);
}

TEST(VerifiedTokens, LeavesLargeTokensOut) {
  VerifiedTokens tokens;
  tokens.Put(std::string(kVerifiedTokenBytesMax, 'x'), Claims("a"));
  EXPECT_EQ(tokens.size(), 1u);
  tokens.Put(std::string(kVerifiedTokenBytesMax + 1, 'x'), Claims("a"));
  EXPECT_EQ(tokens.size(), 1u);
}

}  // namespace
}  // namespace agent_graph::auth

#include "limits/user_tokens.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "../../engine/net/on_fiber.h"
#include "../../engine/net/redis_server.h"

namespace agent_graph::limits {
namespace {

using agent_graph::testing::RedisServer;

class UserTokensTest : public agent_graph::testing::OnFiber {
 protected:
  static TokenLimitOptions Options(const std::string& url, uint64_t tokens,
                                   uint32_t window_seconds) {
    TokenLimitOptions options;
    options.backend = TokenLimitOptions::Backend::kRedis;
    options.redis_url = url;
    options.tokens = tokens;
    options.window_seconds = window_seconds;
    return options;
  }
  static std::unique_ptr<UserTokens> Make(const TokenLimitOptions& options) {
    return UserTokens::Create(options, nullptr, [](const std::string&) {}).value();
  }
  Status Check(UserTokens& tokens, const std::string& user) {
    return Run([&] { return tokens.Check(user); });
  }
  void Charge(UserTokens& tokens, const std::string& user, int64_t count) {
    Run([&] { tokens.Charge(user, count); });
  }
};

// Its sub-windows have other numbers than those of the window before.
TEST_F(UserTokensTest, ANewWindowBeginsAnewInRedis) {
  RedisServer server;
  const TokenLimitOptions brief = Options(server.Url(), 10, 600);
  const TokenLimitOptions long_lasting = Options(server.Url(), 10, 3600);
  const auto before = Make(brief);
  const auto after = Make(long_lasting);
  Charge(*before, "anna", 10);
  EXPECT_EQ(Check(*before, "anna").code(), StatusCode::kBudgetExceeded);
  EXPECT_TRUE(Check(*after, "anna").ok());
  Charge(*after, "anna", 1);
  EXPECT_TRUE(Check(*after, "anna").ok());
  EXPECT_EQ(Check(*before, "anna").code(), StatusCode::kBudgetExceeded);
}

TEST_F(UserTokensTest, WithoutRedisNobodyHasUsedUpTheirTokens) {
  TokenLimitOptions options = Options("unix://" + RedisServer::NewSocketPath(), 10, 600);
  EXPECT_TRUE(Check(*Make(options), "anna").ok());
  options.fail_open = false;
  const Status refused = Check(*Make(options), "anna");
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_EQ(refused.message(), "the token limit cannot be checked now");
}

}  // namespace
}  // namespace agent_graph::limits

#include "tools/mcp/oauth/authorizer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>

#include "../../../net/on_fiber.h"
#include "../../request_script.h"

namespace agent_graph::tools::mcp::oauth {
namespace {

using std::chrono::seconds;

class AuthorizerTest : public testing::OnFiber {
 protected:
  static constexpr seconds kLifetime{1000};

  AuthorizerTest() {
    Authorizer::Options options;
    options.url = script_.url();
    options.token_endpoint = script_.origin() + "/token";
    options.credentials.client_id = "me";
    options.now = [this] { return began_ + passed_.load(); };
    authorizer_ = std::make_shared<Authorizer>(
        std::move(options), std::make_shared<const net::HttpClient>(Environment()));
  }

  void TearDown() override {
    answer_.set_value();
    authorizer_->Close();
    OnFiber::TearDown();
  }

  std::string TokenNow() {
    return Run([&]() -> std::string {
      const runtime::Cancellation never;
      const Result<TokenPtr> token = authorizer_->Current({never, kNoDeadline});
      return token.ok() ? (*token)->text : token.status().message();
    });
  }

  const Deadline began_ = MonotonicClock::now();
  std::atomic<seconds> passed_{seconds(0)};
  std::promise<void> asked_again_;
  std::promise<void> answer_;  // lets the endpoint answer requests after the first one
  std::atomic<int> requests_{0};

 private:
  RequestScript script_{[this, may_answer = answer_.get_future().share()](
                            testing::Connection& connection, const ScriptedRequest&) {
    const int number = ++requests_;
    if (number == 2) {
      asked_again_.set_value();
      may_answer.wait();
    }
    return RequestScript::Json(connection, {{"access_token", "token-" + std::to_string(number)},
                                            {"token_type", "Bearer"},
                                            {"expires_in", kLifetime.count()}});
  }};
  std::shared_ptr<Authorizer> authorizer_;
};

TEST_F(AuthorizerTest, NobodyWaitsForTheRenewalOfAGoodToken) {
  EXPECT_EQ(TokenNow(), "token-1");
  passed_ = kLifetime - seconds(61);
  EXPECT_EQ(TokenNow(), "token-1");
  EXPECT_EQ(requests_, 1);
  passed_ = kLifetime - seconds(60);
  EXPECT_EQ(TokenNow(), "token-1");
  asked_again_.get_future().wait();
  EXPECT_EQ(TokenNow(), "token-1") << "the endpoint has not answered";
}

TEST_F(AuthorizerTest, AnExpiredTokenIsNotUsed) {
  EXPECT_EQ(TokenNow(), "token-1");
  passed_ = kLifetime - seconds(1);
  EXPECT_EQ(TokenNow(), "token-1");
  asked_again_.get_future().wait();
  passed_ = kLifetime;
  std::future<std::string> token = std::async(std::launch::async, [&] { return TokenNow(); });
  answer_.set_value();
  EXPECT_EQ(token.get(), "token-2");
  answer_ = {};
}

}  // namespace
}  // namespace agent_graph::tools::mcp::oauth

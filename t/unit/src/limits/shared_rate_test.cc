#include "limits/shared_rate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>

#include "../../engine/net/on_fiber.h"
#include "../../engine/net/redis_server.h"

namespace agent_graph::limits {
namespace {

using agent_graph::testing::RedisServer;

class SharedRateTest : public agent_graph::testing::OnFiber {
 protected:
  RateLimitOptions Options(const std::string& url, uint32_t requests, uint32_t window_seconds) {
    RateLimitOptions options;
    options.backend = RateLimitOptions::Backend::kRedis;
    options.redis_url = url;
    options.requests = requests;
    options.window_seconds = window_seconds;
    return options;
  }
  std::unique_ptr<SharedRate> Make(const RateLimitOptions& options) {
    return SharedRate::Create(options,
                              [this](const std::string& line) {
                                std::lock_guard lock(mutex_);
                                warnings_.push_back(line);
                              })
        .value();
  }
  std::optional<RateDecision> Check(SharedRate& rate, const std::string& key) {
    return Run([&] { return rate.Check(key); });
  }

  std::mutex mutex_;
  std::vector<std::string> warnings_;
};

// Limits above 256 are counted in blocks.
TEST_F(SharedRateTest, BlocksOfHostsNeverExceedTheLimit) {
  RedisServer server;
  RateLimitOptions options = Options(server.Url(), 1000, 3600);
  auto one = Make(options);
  auto other = Make(options);
  uint32_t admitted = 0;
  for (int i = 0; i < 1200; ++i) {
    std::optional<RateDecision> decision = Check(i % 3 == 0 ? *other : *one, "ip:1");
    ASSERT_TRUE(decision);
    EXPECT_EQ(decision->limit, 1000u);
    admitted += decision->admitted ? 1 : 0;
    if (decision->admitted) continue;
    EXPECT_GE(decision->reset_after_seconds, 3600u - 57);
    EXPECT_LE(decision->reset_after_seconds, 7200u);
  }
  // A host may keep a few permits when the other one finds none left.
  EXPECT_LE(admitted, 1000u);
  EXPECT_GE(admitted, 990u);
  EXPECT_EQ(one->counters().admitted + other->counters().admitted, admitted);
}

TEST_F(SharedRateTest, HostsShareOneWindow) {
  RedisServer server;
  RateLimitOptions options = Options(server.Url(), 3, 60);
  auto one = Make(options);
  auto other = Make(options);
  for (uint32_t left : {2u, 1u, 0u}) {
    std::optional<RateDecision> decision = Check(left == 1 ? *other : *one, "ip:1");
    ASSERT_TRUE(decision);
    EXPECT_TRUE(decision->admitted);
    EXPECT_EQ(decision->remaining, left);
    EXPECT_EQ(decision->reset_after_seconds, 60u);
    EXPECT_EQ(decision->limit, 3u);
  }
  for (SharedRate* host : {one.get(), other.get()}) {
    std::optional<RateDecision> refused = Check(*host, "ip:1");
    ASSERT_TRUE(refused);
    EXPECT_FALSE(refused->admitted);
    EXPECT_GE(refused->reset_after_seconds, 1u);
    EXPECT_LE(refused->reset_after_seconds, 61u);
  }
  EXPECT_TRUE(Check(*one, "ip:2")->admitted);
  EXPECT_EQ(one->counters().admitted, 3u);
  EXPECT_EQ(one->counters().refused, 1u);
  EXPECT_EQ(one->counters().unchecked, 0u);
}

// Its sub-windows have other numbers than those of the window before.
TEST_F(SharedRateTest, ANewWindowBeginsAnew) {
  RedisServer server;
  const auto remaining = [&](uint32_t window_seconds) {
    const RateLimitOptions options = Options(server.Url(), 1000, window_seconds);
    const std::optional<RateDecision> decision = Check(*Make(options), "k");
    return decision && decision->admitted ? decision->remaining : 0;
  };
  EXPECT_EQ(remaining(600), 999u);
  EXPECT_EQ(remaining(3600), 999u);
  EXPECT_EQ(remaining(600), 998u) << "hosts that have not been reloaded yet go on";
  EXPECT_EQ(remaining(3600), 998u);
}

TEST_F(SharedRateTest, PrefixesAreKeptApart) {
  RedisServer server;
  RateLimitOptions first = Options(server.Url(), 1, 60);
  RateLimitOptions second = first;
  second.redis_prefix = "other";
  auto one = Make(first);
  auto other = Make(second);
  EXPECT_TRUE(Check(*one, "k")->admitted);
  EXPECT_FALSE(Check(*one, "k")->admitted);
  EXPECT_TRUE(Check(*other, "k")->admitted);
}

TEST_F(SharedRateTest, AWindowPasses) {
  RedisServer server;
  RateLimitOptions options = Options(server.Url(), 1, 1);
  auto rate = Make(options);
  const auto begin = std::chrono::steady_clock::now();
  std::optional<RateDecision> decision = Check(*rate, "k");
  ASSERT_TRUE(decision->admitted);
  do decision = Check(*rate, "k");
  while (!decision->admitted);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900));
}

TEST_F(SharedRateTest, LogsNothingWithoutRedis) {
  RateLimitOptions options = Options("unix://" + RedisServer::NewSocketPath(), 1, 60);
  auto rate = Make(options);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(Check(*rate, "k"));
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_TRUE(warnings_[0].starts_with("the shared rate limit fails, requests are let through"));
  EXPECT_EQ(rate->counters().unchecked, 3u);
  EXPECT_EQ(rate->counters().refused, 0u);
  options.fail_open = false;
  auto strict = Make(options);
  EXPECT_FALSE(Check(*strict, "k"));
  EXPECT_EQ(strict->counters().unchecked, 0u);
  EXPECT_EQ(strict->counters().refused, 1u);
}

TEST_F(SharedRateTest, OtherBackendsHaveNone) {
  EXPECT_EQ(SharedRate::Create(RateLimitOptions(), {}).value(), nullptr);
  EXPECT_FALSE(SharedRate::Create(Options("nonsense://x", 1, 1), {}).ok());
}

}  // namespace
}  // namespace agent_graph::limits

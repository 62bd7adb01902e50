#include "settings/rate_limit.h"

#include <gtest/gtest.h>

namespace agent_graph::settings {
namespace {

using limits::RateLimitOptions;

Result<Settings> LoadBlock(const std::string& block, const Environment& environment = {}) {
  return Load("/etc/agent/service.json", R"({"agent": "g.so:app", "rate_limit": )" + block + "}",
              environment);
}

TEST(RateLimit, IsOffWithoutTheBlock) {
  EXPECT_FALSE(LoadBlock("null")->rate_limit.has_value());
  EXPECT_FALSE(LoadBlock(R"({"enabled": false})")->rate_limit.has_value());
  EXPECT_FALSE(LoadBlock(R"({"enabled": "${ON}"})", {{"ON", "false"}})->rate_limit.has_value());
}

TEST(RateLimit, HasDefaults) {
  Result<Settings> settings = LoadBlock("{}");
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  const RateLimitOptions& options = settings->rate_limit.value();
  EXPECT_EQ(options.requests, 100U);
  EXPECT_EQ(options.window_seconds, 60U);
  EXPECT_EQ(options.by, RateLimitOptions::By::kAddress);
  EXPECT_EQ(options.scope, RateLimitOptions::Scope::kNginx);
  EXPECT_FALSE(options.trusted_proxy_headers);
  EXPECT_EQ(options.trusted_proxy_hops, 1U);
}

TEST(RateLimit, ReadsEveryKey) {
  Result<Settings> settings = LoadBlock(R"({
    "enabled": "true", "backend": "memory", "requests": 300, "window": 10, "by": "user",
    "scope": "worker", "exclude_paths": ["/ping", "/v1/graph"], "trusted_proxy_headers": true,
    "trusted_proxy_hops": 2, "trusted_proxies": ["10.0.0.0/8", "2001:db8::1"],
    "redis": {"url": "redis://localhost", "prefix": "p"}, "fail_open": false})");
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  const RateLimitOptions& options = settings->rate_limit.value();
  EXPECT_EQ(options.requests, 300U);
  EXPECT_EQ(options.window_seconds, 10U);
  EXPECT_EQ(options.by, RateLimitOptions::By::kUser);
  EXPECT_EQ(options.scope, RateLimitOptions::Scope::kWorker);
  EXPECT_EQ(options.exclude_paths, (std::vector<std::string>{"/ping", "/v1/graph"}));
  EXPECT_TRUE(options.trusted_proxy_headers);
  EXPECT_EQ(options.trusted_proxy_hops, 2U);
  ASSERT_EQ(options.trusted_proxies.size(), 2U);
  EXPECT_TRUE(options.trusted_proxies[0].Contains(*limits::ParseAddress("10.9.8.7")));
}

struct Fault {
  const char* block;
  const char* message;
};

class RateLimitFaults : public testing::TestWithParam<Fault> {};

TEST_P(RateLimitFaults, NameTheKeyAndTheValidValues) {
  Result<Settings> settings = LoadBlock(GetParam().block);
  ASSERT_FALSE(settings.ok());
  EXPECT_EQ(settings.status().message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, RateLimitFaults,
    testing::Values(
        Fault{
            "5",
            "rate_limit: must be an object with keys such as enabled, backend, requests or window"},
        Fault{R"({"requests": 0})", "rate_limit.requests: must be an integer from 1 to 1000000000"},
        Fault{R"({"requests": "10"})",
              "rate_limit.requests: must be an integer from 1 to 1000000000, without quotes or a "
              "unit"},
        Fault{R"({"window": -1})",
              "rate_limit.window: must be an integer from 1 to 604800 (seconds)"},
        Fault{R"({"window": 0.5})",
              "rate_limit.window: must be an integer from 1 to 604800 (seconds)"},
        Fault{R"({"by": "key"})", R"(rate_limit.by: "key" is not one of ip, user, global)"},
        Fault{R"({"scope": "host"})", R"(rate_limit.scope: "host" is not one of nginx, worker)"},
        Fault{R"({"backend": "memcache"})",
              R"(rate_limit.backend: "memcache" is not one of memory, redis)"},
        Fault{
            R"({"backend": "custom"})",
            R"(rate_limit.backend: "custom" is not available in this build; use memory or redis)"},
        Fault{R"({"backend": "redis"})",
              "rate_limit.redis: the redis backend needs a URL, here, in redis or in REDIS_URL"},
        Fault{R"({"enabled": "yes"})", "rate_limit.enabled: must be true or false"},
        Fault{R"({"exclude_paths": ["ping"]})",
              R"(rate_limit.exclude_paths: each path begins with "/")"},
        Fault{R"({"trusted_proxy_hops": 0})",
              "rate_limit.trusted_proxy_hops: must be an integer from 1 to 64"},
        Fault{R"({"trusted_proxies": ["10.0.0.1/8"]})",
              "rate_limit.trusted_proxies.0: is not an address or network such as 10.0.0.0/8 or "
              "2001:db8::/32"},
        Fault{R"({"redis": {"url": "http://h"}})",
              "rate_limit.redis.url: must start with redis:// or unix://"},
        Fault{R"({"request": 5})", "rate_limit.request: unknown key; did you mean requests?"}));

}  // namespace
}  // namespace agent_graph::settings

#include "settings/token_limit.h"

#include <gtest/gtest.h>

#include <string>

namespace agent_graph::settings {
namespace {

using Backend = limits::TokenLimitOptions::Backend;

Result<Settings> LoadMember(const std::string& member, const Environment& environment = {}) {
  return Load("/etc/agent/service.json", R"({"agent": "g.so:app", )" + member + "}", environment);
}

TEST(TokenLimitSettings, KeysAreRead) {
  const Result<Settings> none = LoadMember(R"("token_limit": null)");
  ASSERT_TRUE(none.ok()) << none.status().ToString();
  EXPECT_FALSE(none->token_limit);
  const Result<Settings> memory = LoadMember(R"("token_limit": {"tokens": 5000, "window": 60})");
  ASSERT_TRUE(memory.ok()) << memory.status().ToString();
  EXPECT_EQ(memory->token_limit->tokens, 5000u);
  EXPECT_EQ(memory->token_limit->window_seconds, 60u);
  EXPECT_EQ(memory->token_limit->backend, Backend::kMemory);
  const Result<Settings> redis =
      LoadMember(R"("token_limit": {"tokens": 1, "backend": "redis", "fail_open": false})",
                 {{"REDIS_URL", "redis://127.0.0.1:1"}});
  ASSERT_TRUE(redis.ok()) << redis.status().ToString();
  EXPECT_EQ(redis->token_limit->redis_url, "redis://127.0.0.1:1");
  EXPECT_FALSE(redis->token_limit->fail_open);
}

TEST(TokenLimitSettings, ErrorsNameTheKey) {
  for (const char* block : {R"({})", R"({"tokens": 0})", R"({"tokens": 5, "window": 0})",
                            R"({"tokens": 5, "backend": "file"})", R"({"token": 5})", "5",
                            R"({"tokens": 5, "backend": "redis"})"}) {
    const Result<Settings> settings = LoadMember(std::string(R"("token_limit": )") + block);
    ASSERT_FALSE(settings.ok()) << block;
    EXPECT_TRUE(settings.status().message().starts_with("token_limit")) << block;
  }
}

}  // namespace
}  // namespace agent_graph::settings

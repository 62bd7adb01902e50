#include "settings/recovery.h"

#include <gtest/gtest.h>

#include <string>

namespace agent_graph::settings {
namespace {

Result<Settings> LoadMember(const std::string& member) {
  return Load("/etc/agent/service.json", R"({"agent": "g.so:app", )" + member + "}", {});
}

TEST(RecoverySettings, LostRunsAreContinuedUnlessNull) {
  const Result<Settings> absent = LoadMember(R"("window_max": 100)");
  ASSERT_TRUE(absent.ok()) << absent.status().ToString();
  EXPECT_TRUE(absent->recovery.enabled);
  EXPECT_EQ(absent->recovery.age_seconds_max, 3600);
  EXPECT_EQ(absent->recovery.concurrency, 16u);
  const Result<Settings> none = LoadMember(R"("recovery": null)");
  ASSERT_TRUE(none.ok()) << none.status().ToString();
  EXPECT_FALSE(none->recovery.enabled);
}

TEST(RecoverySettings, ItsKeysAreRead) {
  const Result<Settings> settings = LoadMember(
      R"("recovery": {"max_age": 60, "concurrency": 4, "unknown_effects": "tell_model"})");
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  EXPECT_EQ(settings->recovery.age_seconds_max, 60);
  EXPECT_EQ(settings->recovery.concurrency, 4u);
  EXPECT_FALSE(settings->recovery.asks_about_unknown_effects);
  const Result<Settings> asks = LoadMember(R"("recovery": {"unknown_effects": "interrupt"})");
  ASSERT_TRUE(asks.ok()) << asks.status().ToString();
  EXPECT_TRUE(asks->recovery.asks_about_unknown_effects);
}

TEST(RecoverySettings, ErrorsNameTheKey) {
  for (const char* member : {R"("recovery": {"max_age": 0})", R"("recovery": {"concurrency": 0})",
                             R"("recovery": {"unknown_effects": "repeat"})",
                             R"("recovery": {"age": 1})", R"("recovery": true)"}) {
    const Result<Settings> settings = LoadMember(member);
    ASSERT_FALSE(settings.ok()) << member;
    EXPECT_TRUE(settings.status().message().starts_with("recovery")) << member;
  }
}

}  // namespace
}  // namespace agent_graph::settings

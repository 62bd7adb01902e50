// The section `checkpointer`.
#include <gtest/gtest.h>

#include <string>

#include "settings_text.h"

namespace agent_graph::settings {
namespace {

Result<Settings> LoadCheckpointer(const std::string& value) {
  return LoadText(With("\"checkpointer\": " + value));
}

TEST(CheckpointerSettings, LogsAreKeptForADay) {
  const Result<Settings> settings = LoadCheckpointer(R"("leveldb")");
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  EXPECT_EQ(settings->checkpointer.log_kept_seconds, 86'400);
  EXPECT_EQ(settings->checkpointer.log_bytes_max, 64u << 20);
}

TEST(CheckpointerSettings, LogsMayBeKeptForAnotherTime) {
  const Result<Settings> settings =
      LoadCheckpointer(R"({"log_kept": 604800, "log_bytes_max": 1048576})");
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  EXPECT_EQ(settings->checkpointer.log_kept_seconds, 604'800);
  EXPECT_EQ(settings->checkpointer.log_bytes_max, 1u << 20);
  EXPECT_TRUE(LoadCheckpointer(R"({"log_kept": 0})").ok());
}

TEST(CheckpointerSettings, ErrorsNameTheKey) {
  for (const char* value : {R"({"log_kept": -1})", R"({"log_kept": 2592001})",
                            R"({"log_kept": null})", R"({"log_bytes_max": 1000})"}) {
    const Result<Settings> settings = LoadCheckpointer(value);
    ASSERT_FALSE(settings.ok()) << value;
    EXPECT_TRUE(settings.status().message().starts_with("checkpointer.log_")) << value;
  }
}

}  // namespace
}  // namespace agent_graph::settings

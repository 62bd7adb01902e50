#include "settings/threads.h"

#include <gtest/gtest.h>

#include <string>

namespace agent_graph::settings {
namespace {

Result<Settings> LoadMember(const std::string& member) {
  return Load("/etc/agent/service.json", R"({"agent": "g.so:app", )" + member + "}", {});
}

TEST(ThreadSettings, NamesOfIndexedMetadataAreRead) {
  const Result<Settings> settings =
      LoadMember(R"("threads": {"indexed_metadata": ["tenant", "topic"]})");
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  EXPECT_EQ(settings->threads.indexed_metadata, (std::vector<std::string>{"tenant", "topic"}));
}

TEST(ThreadSettings, ErrorsNameTheKey) {
  std::string many = "[";
  for (int i = 0; i < 17; ++i) many += (i > 0 ? ",\"n" : "\"n") + std::to_string(i) + '"';
  many += "]";
  for (const std::string& names : {std::string(R"([""])"), std::string(R"(["a","a"])"), many,
                                   "[\"" + std::string(65, 'x') + "\"]", std::string("5")}) {
    const Result<Settings> settings =
        LoadMember(R"("threads": {"indexed_metadata": )" + names + "}");
    ASSERT_FALSE(settings.ok()) << names;
    EXPECT_TRUE(settings.status().message().starts_with("threads.indexed_metadata")) << names;
  }
  EXPECT_FALSE(LoadMember(R"("threads": {"index": []})").ok());
}

}  // namespace
}  // namespace agent_graph::settings

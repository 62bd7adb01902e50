#include "settings/facades.h"

#include <gtest/gtest.h>

#include <string>

namespace agent_graph::settings {
namespace {

Result<Settings> LoadFacades(const std::string& value, const Environment& environment = {}) {
  return Load("/etc/agent/service.json", R"({"agent": "g.so:app", "facades": )" + value + "}",
              environment);
}

const Environment kProduction = {{"MODE", "production"}};

TEST(FacadeSettings, AreOnInDevelopmentAndOffInProduction) {
  EXPECT_TRUE(LoadFacades("{}")->facades.openai.facade.enabled);
  EXPECT_FALSE(LoadFacades("{}", kProduction)->facades.openai.facade.enabled);
}

TEST(FacadeSettings, AreSwitchedByName) {
  EXPECT_FALSE(LoadFacades(R"({"openai": false})")->facades.openai.facade.enabled);
  EXPECT_TRUE(LoadFacades(R"({"openai": true})", kProduction)->facades.openai.facade.enabled);
  EXPECT_TRUE(LoadFacades(R"({"openai": {}})", kProduction)->facades.openai.facade.enabled);
}

TEST(FacadeSettings, HaveKeys) {
  EXPECT_EQ(LoadFacades("{}")->facades.openai.facade.path, "/openai/v1");
  const Result<Settings> settings =
      LoadFacades(R"({"openai": {"path": "/v1", "show_tools": "reasoning"}})");
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  EXPECT_EQ(settings->facades.openai.facade.path, "/v1");
  EXPECT_EQ(settings->facades.openai.show_tools, OpenAiSettings::ShowTools::kReasoning);
}

TEST(FacadeSettings, AgUi) {
  EXPECT_TRUE(LoadFacades("{}")->facades.agui.facade.enabled);
  EXPECT_FALSE(LoadFacades("{}", kProduction)->facades.agui.facade.enabled);
  EXPECT_TRUE(LoadFacades(R"({"agui": true})", kProduction)->facades.agui.facade.enabled);
  EXPECT_EQ(LoadFacades("{}")->facades.agui.facade.path, "/agui");
  EXPECT_FALSE(LoadFacades("{}")->facades.agui.continues);
  const Result<Settings> settings =
      LoadFacades(R"({"agui": {"path": "/chat", "on_disconnect": "continue"}})");
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  EXPECT_EQ(settings->facades.agui.facade.path, "/chat");
  EXPECT_TRUE(settings->facades.agui.continues);
  const Result<Settings> wrong = LoadFacades(R"({"agui": {"on_disconnect": "stay"}})");
  ASSERT_FALSE(wrong.ok());
  EXPECT_TRUE(wrong.status().message().starts_with("facades.agui.on_disconnect"))
      << wrong.status().ToString();
}

TEST(FacadeSettings, ErrorsNameTheKey) {
  for (const char* path : {"", "/", "v1", "/v1/", "//v1", "/a b", "/..", "/a/../b", "/a/b/c/d/e"}) {
    const Result<Settings> settings =
        LoadFacades(R"({"openai": {"path": ")" + std::string(path) + "\"}}");
    ASSERT_FALSE(settings.ok()) << path;
    EXPECT_TRUE(settings.status().message().starts_with("facades.openai.path: must be a path"))
        << settings.status().ToString();
  }
  for (const char* value :
       {R"({"openai": 1})", R"({"openai": {"show_tools": "all"}})", R"({"opnai": true})", "true"}) {
    const Result<Settings> settings = LoadFacades(value);
    ASSERT_FALSE(settings.ok()) << value;
    EXPECT_TRUE(settings.status().message().starts_with("facades")) << settings.status().ToString();
  }
}

}  // namespace
}  // namespace agent_graph::settings

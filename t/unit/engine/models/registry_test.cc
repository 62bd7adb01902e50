#include "models/registry.h"

#include <gtest/gtest.h>

#include "models/provider_kind.h"

namespace agent_graph::models {
namespace {

ProviderOptions Named(const std::string& name, const std::string& provider) {
  ProviderOptions options;
  options.name = name;
  options.provider = provider;
  return options;
}

std::string FailureOf(const ProviderOptions& options) {
  return Registry::Create({options}, {}).status().message();
}

TEST(Registry, FindsByName) {
  const auto registry = Registry::Create({Named("fast", "openai"), Named("slow", "demo"),
                                          Named("deep", "anthropic"), Named("wide", "gemini")},
                                         {});
  ASSERT_TRUE(registry.ok());
  EXPECT_NE((*registry)->Find("fast"), nullptr);
  EXPECT_NE((*registry)->Find("slow"), nullptr);
  EXPECT_NE((*registry)->Find("deep"), nullptr);
  EXPECT_NE((*registry)->Find("wide"), nullptr);
  EXPECT_EQ((*registry)->Find("default"), nullptr);
  EXPECT_EQ((*registry)->Find(""), nullptr);
}

TEST(Registry, DemoIsAlwaysThere) {
  EXPECT_NE((*Registry::Create({Named("fast", "openai")}, {}))->Find("demo"), nullptr);
  EXPECT_NE((*Registry::Create({}, {}))->Find("demo"), nullptr);
  EXPECT_NE((*Registry::Create({}, {}))->Find("default"), nullptr);
}

TEST(Registry, EveryProviderKindIsFoundAndCreated) {
  for (const ProviderKind* kind : ProviderKinds()) {
    EXPECT_EQ(FindProviderKind(kind->name), kind);
    EXPECT_TRUE(Registry::Create({Named("m", std::string(kind->name))}, {}).ok());
    // An address that needs a key names its variable.
    EXPECT_EQ(kind->base_url.empty(), kind->key_variable.empty()) << kind->name;
  }
  EXPECT_EQ(FindProviderKind("opneai"), nullptr);
}

TEST(Registry, ErrorsNameModelAndReason) {
  EXPECT_EQ(FailureOf(Named("m", "opneai")),
            "models.m: provider: \"opneai\" is not one of demo, openai, anthropic, gemini");

  ProviderOptions address = Named("m", "openai");
  address.base_url = "model.example.com/v1";
  EXPECT_EQ(FailureOf(address), "models.m: base_url must be an http or https address");

  ProviderOptions key = Named("m", "openai");
  key.api_key = "top-secret\r\nX-Injected: 1";
  EXPECT_EQ(FailureOf(key), "models.m: api_key contains a control character");

  ProviderOptions header = Named("m", "openai");
  header.headers = {{"X-A", "1\n2"}};
  EXPECT_EQ(FailureOf(header), "models.m: headers has an entry that is no header");

  ProviderOptions parameters = Named("m", "demo");
  parameters.parameters_json = "[]";
  EXPECT_EQ(FailureOf(parameters), "models.m: the model's parameters are not a JSON object");
}

}  // namespace
}  // namespace agent_graph::models

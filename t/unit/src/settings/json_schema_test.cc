// The JSON Schema that is made from the readers of service.json.
#include "settings/json_schema.h"

#include <gtest/gtest.h>

#include <string>

#include "agent_graph/json.h"

namespace agent_graph::settings {
namespace {

class ServiceSchemaTest : public ::testing::Test {
 protected:
  // Returns the schema at a path of keys.
  json At(std::initializer_list<const char*> path) {
    json at = schema_;
    for (const char* key : path) {
      json next = at["properties"].value(key, json());
      // An object may be one of several forms.
      for (const json& form : next.value("anyOf", json::array())) {
        if (form.value("type", "") == "object") next = json(form);
      }
      at = std::move(next);
    }
    return at;
  }

  const json schema_ = json::parse(ServiceSchema());
};

TEST_F(ServiceSchemaTest, HasTypesAndBounds) {
  EXPECT_EQ(At({"security_headers"}), json({{"type", "boolean"}}));
  EXPECT_EQ(At({"limits", "runs_max"}),
            json({{"type", "integer"}, {"minimum", 1}, {"maximum", 16000}}));
  EXPECT_EQ(At({"agent"}), json({{"type", "string"}}));
  EXPECT_EQ(
      At({"window_max"}),
      json({{"anyOf",
             {{{"type", "null"}}, {{"type", "integer"}, {"minimum", 1}, {"maximum", 10000}}}}}));
  EXPECT_EQ(At({"observability", "sample_ratio"}), json({{"type", "number"}}));
}

TEST_F(ServiceSchemaTest, HasNamesToChooseFrom) {
  const json variable = {{"$ref", "#/$defs/Variable"}};
  EXPECT_EQ(At({"checkpointer", "sync"}),
            json({{"anyOf", {{{"enum", {"run", "always", "none"}}}, variable}}}));
  EXPECT_EQ(At({"media", "cloud", "provider"}), json({{"anyOf", {{{"enum", {"aws"}}}, variable}}}));
}

TEST_F(ServiceSchemaTest, HasElementsAndMembers) {
  const json text = {{"type", "string"}};
  EXPECT_EQ(At({"cors", "origins"}),
            json({{"anyOf", {text, {{"type", "array"}, {"items", text}}}}}));
  const json model = At({"models"})["additionalProperties"];
  EXPECT_EQ(model["properties"]["headers"],
            json({{"type", "object"}, {"additionalProperties", text}}));
  EXPECT_EQ(model["properties"]["parameters"], json({{"type", "object"}}));
  EXPECT_EQ(model["additionalProperties"], false);
  const json tools = schema_["properties"]["remote_tools"]["anyOf"];
  EXPECT_EQ(tools[1]["items"]["properties"]["node"], text);
  EXPECT_EQ(At({"auth"})["properties"]["path"], text);
  EXPECT_EQ(At({"authorization", "backend"})["anyOf"][0]["enum"][0], "rbac");
}

TEST_F(ServiceSchemaTest, ToleratesWhatHasNoEffect) {
  for (const char* key : {"injectq", "test", "ag_ui", "$schema"}) {
    EXPECT_EQ(At({key}), json::object()) << key;
  }
  EXPECT_EQ(At({"observability", "logfire"}), json::object());
}

}  // namespace
}  // namespace agent_graph::settings

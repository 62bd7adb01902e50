// The schema of a tool's arguments in the list for clients.
#include "facades/mcp/input_schema.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph::mcp {
namespace {

json Shown(const json& schema) {
  return json::parse(InputSchemaOf(schema.dump()));
}

TEST(InputSchema, HasTheTypeObject) {
  EXPECT_EQ(Shown(json::object()), json({{"type", "object"}}));
  EXPECT_EQ(Shown(json::array()), json({{"type", "object"}}));
  EXPECT_EQ(InputSchemaOf("{"), R"({"type":"object"})");
  EXPECT_EQ(Shown({{"type", json::array({"object", "null"})}, {"required", json::array({"a"})}}),
            json({{"type", "object"}, {"required", json::array({"a"})}}));
}

TEST(InputSchema, HeaderMarksAreRemoved) {
  const json marked = {{"type", "string"}, {"x-mcp-header", "Region"}};
  const json plain = {{"type", "string"}};
  const auto with = [](const json& property) {
    return json{{"type", "object"},
                {"properties",
                 {{"region", property},
                  {"nested", {{"type", "object"}, {"properties", {{"zone", property}}}}},
                  {"list", {{"type", "array"}, {"items", property}}}}},
                {"$defs", {{"region", property}}},
                {"anyOf", json::array({property, {{"not", property}}})}};
  };
  EXPECT_EQ(Shown(with(marked)), with(plain));
}

TEST(InputSchema, ValuesAndNamesThatLookLikeAMarkStay) {
  const json schema = {
      {"type", "object"},
      {"properties",
       {{"x-mcp-header", {{"type", "string"}}},
        {"enum", {{"type", "string"}}},
        {"choice", {{"enum", json::array({{{"x-mcp-header", 1}}})}}},
        {"preset", {{"default", {{"x-mcp-header", 1}}}, {"const", {{"x-mcp-header", 1}}}}}}}};
  EXPECT_EQ(Shown(schema), schema);
}

TEST(InputSchema, PropertiesThatAreNoObjectsBecomeObjects) {
  EXPECT_EQ(Shown({{"properties", {{"any", true}, {"none", false}}}}),
            json({{"type", "object"},
                  {"properties", {{"any", json::object()}, {"none", {{"not", json::object()}}}}}}));
}

}  // namespace
}  // namespace agent_graph::mcp

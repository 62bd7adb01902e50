#include "tools/schema/json_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>

#include "../../net/on_fiber.h"
#include "agent_graph/json.h"

namespace agent_graph::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Check(const std::string& schema, const std::string& value) {
  Result<JsonSchemaPtr> compiled = JsonSchema::Compile(schema);
  EXPECT_TRUE(compiled.ok()) << schema << ": " << compiled.status().ToString();
  return compiled.ok() ? (*compiled)->Check(json::parse(value)) : std::vector<std::string>{};
}

TEST(JsonSchemaTest, ParametersTakeObjects) {
  for (const char* good : {R"({})", R"({"type":"object"})", R"({"type":["null","object"]})",
                           R"({"properties":{"a":{"type":"array"}}})"}) {
    EXPECT_TRUE(JsonSchema::CompileParameters(good).ok()) << good;
  }
  for (const char* bad : {R"({"type":"array"})", R"({"type":"string"})", R"({"type":"null"})",
                          R"({"type":["array","string"]})"}) {
    EXPECT_TRUE(JsonSchema::Compile(bad).ok()) << bad;
    EXPECT_THAT(JsonSchema::CompileParameters(bad).status().message(),
                HasSubstr("type: must be or include \"object\""))
        << bad;
  }
}

TEST(JsonSchemaTest, ProblemsNameThePlace) {
  const char schema[] = R"({
    "type": "object", "required": ["city", "days"], "additionalProperties": false,
    "properties": {
      "city": {"type": "string", "minLength": 2},
      "days": {"type": "integer", "minimum": 1, "maximum": 7},
      "units": {"enum": ["celsius", "kelvin"]},
      "places": {"type": "array", "items": {"type": "object",
                 "properties": {"lat": {"type": "number"}}, "required": ["lat"]}}}})";
  EXPECT_THAT(Check(schema, R"({"city":"Rome","days":3,"units":"kelvin","places":[{"lat":1.5}]})"),
              IsEmpty());
  EXPECT_THAT(
      Check(schema, R"({"city":5,"days":8,"units":"F","extra":1})"),
      ElementsAre("extra: is not allowed", "city: must be a string", "days: must be at most 7",
                  R"(units: must be one of ["celsius","kelvin"])"));
  EXPECT_THAT(Check(schema, R"({"days":1.0,"places":[{"lat":0},{}]})"),
              ElementsAre("city: is missing", "places.1.lat: is missing"));
  EXPECT_THAT(Check(schema, R"([1])"), ElementsAre("the whole: must be an object"));
}

TEST(JsonSchemaTest, WhatIsNoSchemaIsRefused) {
  auto refusal = [](const std::string& text) {
    return JsonSchema::Compile(text).status().message();
  };
  EXPECT_THAT(refusal(R"({"properties":{"a":{"type":"text"}}})"),
              HasSubstr("properties.a.type: must be one of array"));
  EXPECT_EQ(refusal(R"({"required":"a"})"), "required: must be a list of names");
  EXPECT_EQ(refusal(R"({"properties":[1]})"), "properties: must be an object");
  EXPECT_EQ(refusal(R"({"anyOf":[]})"), "anyOf: must be a list of schemas");
  EXPECT_EQ(refusal(R"({"items":3})"), "items: must be a schema: an object, true or false");
  EXPECT_EQ(refusal(R"({"$ref":"#/$defs/nobody"})"), "$ref: there is no #/$defs/nobody");
  EXPECT_EQ(refusal("[]"), "the schema: must be a schema: an object, true or false");
  EXPECT_NE(refusal("{"), "");
}

TEST(JsonSchemaTest, WhatIsNotUnderstoodIsNotChecked) {
  EXPECT_THAT(Check(R"({"$ref":"https://example.com/other.json","format":"email","x":1})", "5"),
              IsEmpty());
  EXPECT_THAT(Check(R"({"pattern":"(?<=a"})", R"("b")"), IsEmpty());
}

TEST(JsonSchemaTest, ProblemsAreBounded) {
  std::string schema = R"({"items":{"type":"string"}})";
  std::string value = "[";
  for (int i = 0; i < 1000; ++i) value += i == 0 ? "1" : ",1";
  EXPECT_EQ(Check(schema, value + "]").size(), kSchemaProblemsMax);
}

TEST(JsonSchemaTest, APatternThatBacktracksWithoutEndGivesUp) {
  const std::string text = "\"" + std::string(50'000, 'a') + "!\"";
  // Without a limit this would practically never end.
  EXPECT_THAT(Check(R"({"pattern":"^(a+)+$"})", text), ElementsAre(HasSubstr("must match")));
  EXPECT_THAT(Check(R"({"pattern":"(x+x+)+y"})", "\"" + std::string(5000, 'x') + "\""),
              ElementsAre(HasSubstr("must match")));
}

class OnSmallStack : public testing::OnFiber {};

TEST_F(OnSmallStack, DepthAndTimeAreBounded) {
  // These refer to themselves endlessly or double at each step.
  const std::string endless = R"({"$ref":"#"})";
  const std::string doubling = R"({"allOf":[{"$ref":"#"},{"$ref":"#"}]})";
  const std::string tree = R"({"properties":{"x":{"$ref":"#"}},"required":["y"]})";
  std::string deep = "1";
  for (int i = 0; i < 100; ++i) deep = R"({"x":)" + deep + "}";
  const std::string nested_groups =
      R"({"pattern":")" + std::string(200, '(') + "a" + std::string(200, ')') + R"("})";
  Run([&] {
    EXPECT_THAT(Check(endless, "1"), ElementsAre(HasSubstr("too deeply nested")));
    EXPECT_THAT(Check(doubling, "1"), ElementsAre(HasSubstr("too deeply nested")));
    EXPECT_THAT(Check(tree, deep).back(), HasSubstr("too deeply nested"));
    EXPECT_THAT(Check(nested_groups, R"("a")"), IsEmpty());
    return true;
  });
  std::string wide = "[";
  for (int i = 0; i < 60'000; ++i) wide += i == 0 ? "1" : ",1";
  EXPECT_THAT(Check(R"({"items":{"type":"integer"}})", wide + "]"),
              ElementsAre(HasSubstr("too large")));
}

// {"a0": {"$ref": "#/$defs/a1"}, …}: a server or client can make this chain as long as it likes.
std::string ChainOfReferences(int links) {
  std::string schema = R"({"$ref":"#/$defs/a0","$defs":{)";
  for (int i = 0; i < links; ++i) {
    schema +=
        "\"a" + std::to_string(i) + R"(":{"$ref":"#/$defs/a)" + std::to_string(i + 1) + "\"},";
  }
  return schema + "\"a" + std::to_string(links) + R"(":{"type":"string"}}})";
}

TEST_F(OnSmallStack, SchemasAreReadWithoutRecursion) {
  Run([&] {
    EXPECT_THAT(Check(ChainOfReferences(20'000), "1"), ElementsAre(HasSubstr("too deeply nested")));
    EXPECT_THAT(Check(ChainOfReferences(20), "1"), ElementsAre("the whole: must be a string"));
    EXPECT_THAT(Check(R"({"$ref":"#/x/y","x":{"y":{"$ref":"#/x/z"},"z":{"$ref":"#/x/y"}}})", "1"),
                ElementsAre(HasSubstr("too deeply nested")));
    std::string deep = "true";
    for (int i = 0; i < 128; ++i) deep = R"({"not":)" + deep + "}";
    EXPECT_THAT(Check(deep, "1"), ElementsAre(HasSubstr("too deeply nested")));
    EXPECT_FALSE(JsonSchema::Compile(R"({"not":)" + deep + "}").ok());
    return true;
  });
}

TEST(JsonSchemaTest, ARefusalNamesThePlaceAlsoBehindAReference) {
  auto refusal = [](const std::string& text) {
    return JsonSchema::Compile(text).status().message();
  };
  EXPECT_EQ(refusal(R"({"properties":{"a":{"anyOf":[{},{"items":5}]}}})"),
            "properties.a.anyOf.1.items: must be a schema: an object, true or false");
  EXPECT_EQ(refusal(R"({"$ref":"#/x","x":{"type":7}})").substr(0, 9), "#/x.type:");
  const std::string long_key(100'000, 'k');
  EXPECT_LT(refusal(R"({"properties":{")" + long_key + R"(":{"type":7}}})").size(), 1000);
}

TEST(JsonSchemaTest, PatternsAreBounded) {
  std::string many = R"({"patternProperties":{)";
  for (int i = 0; i < 1000; ++i)
    many += (i == 0 ? "\"^p" : ",\"^p") + std::to_string(i) + "\":true";
  EXPECT_THAT(JsonSchema::Compile(many + "}}").status().message(), HasSubstr("patterns"));
  // Each of these is short as text but large when compiled.
  std::string large = R"({"allOf":[)";
  for (int i = 0; i < 200; ++i) {
    const std::string pattern = "((x" + std::to_string(i) + "){30}){30}";
    large += (i == 0 ? "{" : ",{") + ("\"pattern\":\"" + pattern + "\"}");
  }
  EXPECT_THAT(JsonSchema::Compile(large + "]}").status().message(),
              HasSubstr("patterns are too large"));
}

// Each would keep a thread busy for a long time if its work were not limited.
TEST(JsonSchemaTest, WhatCostsMuchIsCounted) {
  auto repeated = [](const std::string& schema) {
    std::string all = R"({"$defs":{"s":)" + schema + R"(},"allOf":[)";
    for (int i = 0; i < 10'000; ++i)
      all += (i == 0 ? "" : ",") + std::string(R"({"$ref":"#/$defs/s"})");
    return all + "]}";
  };
  std::string list = "[";
  for (int i = 0; i < 20'000; ++i) list += i == 0 ? "1" : ",1";
  list += "]";
  std::string names = R"({"n0":[])";
  for (int i = 1; i < 20'000; ++i) names += ",\"n" + std::to_string(i) + "\":[]";
  names += "}";
  const std::string text = "\"" + std::string(1'000'000, 'x') + "\"";
  const auto too_large = ElementsAre(HasSubstr("too large"));
  EXPECT_THAT(Check(repeated(R"({"const":)" + list + "}"), list), too_large);
  EXPECT_THAT(Check(repeated(R"({"enum":[)" + list + "]}"), list), too_large);
  EXPECT_THAT(Check(repeated(R"({"dependentRequired":)" + names + "}"), R"({"a":1})"), too_large);
  EXPECT_THAT(Check(repeated(R"({"maxLength":2000000})"), text), too_large);
}

// The public test suite of JSON Schema, from Debian's json-schema-test-suite.
class SuiteTest : public ::testing::TestWithParam<std::string> {};

// These need other documents or names within this one.
const std::set<std::string> kNotUnderstood = {"refRemote.json",
                                              "definitions.json",
                                              "optional",
                                              "format.json",
                                              "infinite-loop-detection.json",
                                              "id.json",
                                              "unknownKeyword.json"};
const std::set<std::string> kGroupsNotUnderstood = {
    "remote ref, containing refs itself",
    "Recursive references between schemas",
    "ref overrides any sibling keywords",
    "Location-independent identifier",
    "Location-independent identifier with absolute URI",
    "Location-independent identifier with base URI change in subschema",
    "refs with relative uris and defs",
    "relative refs with absolute uris and defs",
    "$ref prevents a sibling $id from changing the base uri",
};

TEST_P(SuiteTest, GivesTheVerdictsOfTheSuite) {
  const std::filesystem::path folder = "/usr/share/json-schema-test-suite/tests/" + GetParam();
  size_t verdicts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (kNotUnderstood.contains(entry.path().filename().string())) continue;
    std::ifstream file(entry.path());
    for (const json& group : json::parse(file)) {
      const std::string name = group.at("description");
      if (kGroupsNotUnderstood.contains(name)) continue;
      Result<JsonSchemaPtr> schema = JsonSchema::Compile(group.at("schema").dump());
      ASSERT_TRUE(schema.ok()) << entry.path() << ": " << name << schema.status().ToString();
      for (const json& test : group.at("tests")) {
        const std::vector<std::string> problems = (*schema)->Check(test.at("data"));
        EXPECT_EQ(problems.empty(), test.at("valid").get<bool>())
            << entry.path() << ": " << name << ": " << test.at("description");
        ++verdicts;
      }
    }
  }
  EXPECT_GT(verdicts, 250u);
}

INSTANTIATE_TEST_SUITE_P(Drafts, SuiteTest, ::testing::Values("draft4", "draft6", "draft7"),
                         [](const auto& draft) { return draft.param; });

// Keywords of later drafts.
TEST(JsonSchemaTest, LaterKeywords) {
  EXPECT_THAT(Check(R"({"prefixItems":[{"type":"integer"}],"items":false})", "[1]"), IsEmpty());
  EXPECT_THAT(Check(R"({"prefixItems":[{"type":"integer"}],"items":false})", "[1,2]"),
              ElementsAre("1: is not allowed"));
  EXPECT_THAT(Check(R"({"dependentRequired":{"a":["b"]}})", R"({"a":1})"),
              ElementsAre("b: is missing"));
  EXPECT_THAT(Check(R"({"contains":{"const":1},"minContains":2})", "[1]").size(), 1u);
  EXPECT_THAT(Check(R"({"contains":{"const":1},"maxContains":1})", "[1,1]").size(), 1u);
  EXPECT_THAT(Check(R"({"$defs":{"n":{"type":"null"}},"$ref":"#/$defs/n"})", "1").size(), 1u);
}

}  // namespace
}  // namespace agent_graph::tools

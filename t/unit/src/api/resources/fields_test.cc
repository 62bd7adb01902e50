#include "api/http/fields.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"
#include "api/resources/request_shapes.h"

namespace agent_graph::api {
namespace {

constexpr std::array<std::string_view, 2> kColours = {"red", "green"};
constexpr std::array kInner = {
    Field{.name = "deep", .type = FieldType::kInteger, .required = true, .minimum = 1}};
constexpr Field kEntry{.name = "entry", .type = FieldType::kText, .not_blank = true, .maximum = 3};
constexpr Field kScalarEntry{.type = FieldType::kScalar, .required = true, .not_blank = true};
constexpr std::array kFields = {
    Field{.name = "any"},
    Field{.name = "text", .type = FieldType::kText, .not_blank = true, .maximum = 4},
    Field{.name = "thread", .type = FieldType::kThreadId},
    Field{.name = "named", .type = FieldType::kThreadId, .not_blank = true},
    Field{.name = "count", .type = FieldType::kInteger, .minimum = 1, .maximum = 9, .fallback = 5},
    Field{.name = "share", .type = FieldType::kNumber, .minimum = 0, .maximum = 1},
    Field{.name = "flag", .type = FieldType::kBoolean},
    Field{.name = "colour", .type = FieldType::kChoice, .fallback = 1, .choices = kColours},
    Field{.name = "object", .type = FieldType::kObject, .members = kInner},
    Field{.name = "list", .type = FieldType::kArray, .minimum = 1, .maximum = 2, .entry = &kEntry},
    Field{.name = "map",
          .type = FieldType::kObject,
          .not_null = true,
          .maximum = 2,
          .entry = &kScalarEntry},
};

std::string ProblemOf(const json& body) {
  Problems problems;
  CheckFields(body, kFields, {"body"}, problems);
  return problems.empty() ? "" : std::move(problems).Error().message;
}

TEST(CheckFields, LetsGoodValuesThrough) {
  for (const char* good : {
           R"({})",
           R"({"any":[{}],"text":"abcd","thread":5,"named":"007","count":9.0,"share":0.5})",
           R"({"text":null,"thread":null,"count":null,"flag":null,"colour":null,"object":null})",
           R"({"thread":" ","flag":false,"colour":"red","object":{"deep":1,"more":2}})",
           R"({"list":["a","b"],"further":"members"})",
           R"({"map":{"a":"x","b":-1.5}})",
           R"({"map":{"":false}})",
       }) {
    EXPECT_EQ(ProblemOf(json::parse(good)), "") << good;
  }
}

struct Bad {
  const char* body;
  const char* problem;
};

class BadFields : public testing::TestWithParam<Bad> {};

TEST_P(BadFields, AreNamed) {
  EXPECT_EQ(ProblemOf(json::parse(GetParam().body)), GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadFields,
    testing::Values(Bad{R"({"text":5})", "body.text: must be a string"},
                    Bad{R"({"text":" "})", "body.text: must not be blank"},
                    Bad{R"({"text":"abcde"})", "body.text: must have at most 4 bytes"},
                    Bad{R"({"thread":[]})", "body.thread: must be a string"},
                    Bad{R"({"thread":0})", "body.thread: an integer must be at least 1"},
                    Bad{R"({"thread":"-3"})", "body.thread: an integer must be at least 1"},
                    Bad{R"({"named":" "})", "body.named: must not be empty"},
                    Bad{R"({"count":0})", "body.count: must be from 1 to 9"},
                    Bad{R"({"count":2.5})", "body.count: must be an integer"},
                    Bad{R"({"count":"2"})", "body.count: must be an integer"},
                    Bad{R"({"count":1e300})", "body.count: must be from 1 to 9"},
                    Bad{R"({"share":1.5})", "body.share: must be from 0 to 1"},
                    Bad{R"({"share":true})", "body.share: must be a number"},
                    Bad{R"({"flag":0})", "body.flag: must be true or false"},
                    Bad{R"({"colour":"blue"})", "body.colour: must be one of red, green"},
                    Bad{R"({"object":[]})", "body.object: must be an object"},
                    Bad{R"({"object":{}})", "body.object.deep: is required"},
                    Bad{R"({"object":{"deep":0}})", "body.object.deep: must be at least 1"},
                    Bad{R"({"list":{}})", "body.list: must be an array"},
                    Bad{R"({"list":[]})", "body.list: must contain at least one entry"},
                    Bad{R"({"list":["a","b","c"]})", "body.list: must contain at most 2 entries"},
                    Bad{R"({"list":["a",""]})", "body.list.1: must not be blank"},
                    Bad{R"({"map":null})", "body.map: must not be null"},
                    Bad{R"({"map":{"a":1,"b":2,"c":3}})", "body.map: must have at most 2 keys"},
                    Bad{R"({"map":{"a":" "}})", "body.map.a: must not be empty"},
                    Bad{R"({"map":{"a":null}})",
                        "body.map.a: must be a string, a number, true or false"},
                    Bad{R"({"flag":1,"text":1})",
                        "body.text: must be a string; body.flag: must be true or false"}));

TEST(CheckFields, ReportsMissingParts) {
  Problems problems;
  CheckFields(json::parse(R"({"thread_id":null})"), kStopBody.fields, {"body"}, problems);
  ErrorInfo error = std::move(problems).Error();
  ASSERT_EQ(error.details.size(), 1u);
  EXPECT_EQ(error.details[0].location, (std::vector<std::string>{"body", "thread_id"}));
  EXPECT_EQ(error.details[0].type, ProblemType::kMissing);
}

TEST(CheckedValues, AreReadWithTheirFallbacks) {
  json body = json::parse(R"({"count":7.0,"colour":"red"})");
  EXPECT_EQ(IntegerOf(body, kFields[4]), 7);
  EXPECT_EQ(ChoiceOf(body, kFields[7]), 0u);
  EXPECT_EQ(IntegerOf(json::object(), kFields[4]), 5);
  EXPECT_EQ(ChoiceOf(json::parse(R"({"colour":null})"), kFields[7]), 1u);
}

TEST(SchemaOf, DescribesTheChecks) {
  EXPECT_EQ(SchemaOf(kRecursionLimit),
            json::parse(R"({"type":["integer","null"],"minimum":1,"maximum":100,
                "default":25,"description":"Nodes that the run may execute"})"));
  json schema = SchemaOf(kFields);
  EXPECT_EQ(schema["properties"]["object"]["required"], json({"deep"}));
  EXPECT_EQ(schema["properties"]["list"]["items"]["pattern"], "\\S");
  EXPECT_EQ(schema["properties"]["colour"]["enum"].dump(), R"(["red","green",null])");
  EXPECT_EQ(schema["properties"]["map"], json::parse(R"({"type":"object",
      "maxProperties":2,
      "additionalProperties":{"type":["string","number","boolean"],"pattern":"\\S"}})"));
}

}  // namespace
}  // namespace agent_graph::api

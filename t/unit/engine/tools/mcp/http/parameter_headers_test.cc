#include "tools/mcp/http/parameter_headers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph::tools::mcp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

json With(const json& property) {
  return {{"type", "object"}, {"properties", {{"p", property}}}};
}

net::HttpHeaders Of(const json& schema, const json& arguments) {
  const Result<ParameterHeaders> headers = ParameterHeaders::Read(schema);
  EXPECT_TRUE(headers.ok()) << headers.status().ToString();
  Result<net::HttpHeaders> fields = headers->Of(arguments);
  EXPECT_TRUE(fields.ok()) << fields.status().ToString();
  return *std::move(fields);
}

std::string Problem(const json& schema) {
  return ParameterHeaders::Read(schema).status().message();
}

TEST(HeaderTextTest, WhatHttpWouldChangeIsEncoded) {
  EXPECT_EQ(HeaderText("us-west1"), "us-west1");
  EXPECT_EQ(HeaderText("us west 1"), "us west 1");
  EXPECT_EQ(HeaderText("Hello, 世界"), "=?base64?SGVsbG8sIOS4lueVjA==?=");
  EXPECT_EQ(HeaderText(" padded "), "=?base64?IHBhZGRlZCA=?=");
  EXPECT_EQ(HeaderText("line1\nline2"), "=?base64?bGluZTEKbGluZTI=?=");
  EXPECT_EQ(HeaderText("=?base64?literal?="), "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
  EXPECT_EQ(HeaderText(""),
            "=?base64?"
            "?=");
  EXPECT_EQ(HeaderText("\x7f"), "=?base64?fw==?=");
}

TEST(ParameterHeadersTest, Values) {
  const auto of = [](const char* type, const json& value) {
    const net::HttpHeaders headers =
        Of(With({{"type", type}, {"x-mcp-header", "H"}}), {{"p", value}});
    return headers.empty() ? "" : headers[0].second;
  };
  EXPECT_EQ(of("string", "x"), "x");
  EXPECT_EQ(of("boolean", true), "true");
  EXPECT_EQ(of("boolean", false), "false");
  EXPECT_EQ(of("integer", -7), "-7");
  EXPECT_EQ(of("integer", 42.0), "42");
  EXPECT_EQ(of("integer", 9007199254740991), "9007199254740991");
  EXPECT_EQ(of("string", nullptr), "") << "no header";
}

TEST(ParameterHeadersTest, ValuesThatFitIntoNoHeader) {
  const ParameterHeaders headers =
      *ParameterHeaders::Read(With({{"type", "integer"}, {"x-mcp-header", "H"}}));
  for (const json& value : {json(9007199254740992), json(-9007199254740992), json(1.5), json(1e300),
                            json(json::array()), json(json::object()), json(18446744073709551615u),
                            json(std::string(10'000, 'x'))}) {
    EXPECT_EQ(headers.Of({{"p", value}}).status().code(), StatusCode::kInvalidArgument) << value;
  }
}

TEST(ParameterHeadersTest, ArgumentsThatAreNotThere) {
  const json schema = With(
      {{"type", "object"}, {"properties", {{"q", {{"type", "string"}, {"x-mcp-header", "Q"}}}}}});
  EXPECT_THAT(Of(schema, {{"p", {{"q", "x"}}}}), ElementsAre(Pair("Mcp-Param-Q", "x")));
  for (const json& arguments : {json::object(), json({{"p", nullptr}}), json({{"p", 5}}),
                                json({{"p", json::array({"q"})}}), json({{"q", "x"}})}) {
    EXPECT_TRUE(Of(schema, arguments).empty()) << arguments;
  }
}

TEST(ParameterHeadersTest, APropertyOfThatName) {
  EXPECT_TRUE(
      Of({{"properties", {{"x-mcp-header", {{"type", "string"}}}}}}, {{"x-mcp-header", "v"}})
          .empty());
  EXPECT_EQ(Problem({{"properties", {{"p", {{"const", {{"x-mcp-header", ""}}}}}}}}), "");
}

TEST(ParameterHeadersTest, Mistakes) {
  for (const char* name : {"", "a b", "a:b", "Région", "a\tb", "a\r\nb", "a/b"}) {
    EXPECT_THAT(Problem(With({{"type", "string"}, {"x-mcp-header", name}})),
                HasSubstr("must be the name of a header"))
        << name;
  }
  EXPECT_NE(Problem(With({{"type", "string"}, {"x-mcp-header", 5}})), "");
  for (const json& type : {json("number"), json("object"), json("array"), json("null"), json(5),
                           json(json::array({"string"})), json()}) {
    EXPECT_THAT(Problem(With({{"type", type}, {"x-mcp-header", "H"}})),
                HasSubstr("only for strings, integers and booleans"))
        << type;
  }
  EXPECT_THAT(Problem({{"properties",
                        {{"a", {{"type", "string"}, {"x-mcp-header", "Field"}}},
                         {"b", {{"type", "string"}, {"x-mcp-header", "field"}}}}}}),
              HasSubstr("is there twice"));
}

TEST(ParameterHeadersTest, PlacesWhereNoArgumentIs) {
  const json marked = {{"type", "string"}, {"x-mcp-header", "H"}};
  for (const json& schema :
       {marked, With({{"type", "array"}, {"items", marked}}),
        json({{"anyOf", json::array({With(marked)})}}), json({{"if", With(marked)}}),
        json({{"$defs", {{"d", marked}}}}), json({{"additionalProperties", marked}}),
        json({{"patternProperties", {{"^a", marked}}}}),
        With({{"oneOf", json::array({marked})}})}) {
    EXPECT_THAT(Problem(schema), HasSubstr("stands where no argument is")) << schema;
  }
}

TEST(ParameterHeadersTest, Bounds) {
  json many = {{"properties", json::object()}};
  for (int i = 0; i < 40; ++i) {
    many["properties"]["p" + std::to_string(i)] = {{"type", "string"},
                                                   {"x-mcp-header", "H" + std::to_string(i)}};
  }
  EXPECT_THAT(Problem(many), HasSubstr("more than 32"));
  json deep = {{"type", "string"}};
  for (int i = 0; i < 100; ++i) deep = With(deep);
  EXPECT_THAT(Problem(deep), HasSubstr("too deep"));
}

}  // namespace
}  // namespace agent_graph::tools::mcp

#include "base/json.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"
#include "base/configuration_json.h"
#include "base/text_position.h"

namespace agent_graph {
namespace {

TEST(ParseJson, ReadsAnObject) {
  auto value = ParseJson(R"({"a":[1,2.5,"x",null,true]})");
  ASSERT_TRUE(value.ok()) << value.status().ToString();
  EXPECT_EQ((*value)["a"][2], "x");
}

TEST(ParseJson, NamesThePositionOfAnError) {
  auto value = ParseJson("{");
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(value.status().message().find("byte"), std::string::npos);
}

TEST(ParseJson, RefusesDeepNestingBeforeATreeExists) {
  EXPECT_FALSE(ParseJson(std::string(100'000, '[')).ok());
  EXPECT_TRUE(ParseJson(std::string(128, '[') + std::string(128, ']')).ok());
  EXPECT_FALSE(ParseJson(std::string(129, '[') + std::string(129, ']')).ok());
}

TEST(ParseJson, RefusesTooManyValues) {
  EXPECT_FALSE(ParseJson("[1,2,3]", {.depth_max = 8, .values_max = 3}).ok());
  EXPECT_TRUE(ParseJson("[1,2]", {.depth_max = 8, .values_max = 3}).ok());
}

TEST(ParseConfigurationJson, RefusesKeysThatAreThereTwice) {
  struct Case {
    const char* text;
    const char* path;
  };
  for (const Case& one : {Case{R"({"auth": "jwt", "x": {"auth": 1}, "auth": null})", "auth"},
                          Case{R"({"a": {"b": [{}, {"c": 1, "c": 2}]}})", "a.b.1.c"},
                          Case{R"([[0, 1], [{"": 1, "": 2}]])", "1.0."}}) {
    auto value = ParseConfigurationJson(one.text);
    ASSERT_FALSE(value.ok()) << one.text;
    EXPECT_EQ(value.status().message(), std::string(one.path) + ": is there twice");
    EXPECT_TRUE(ParseJson(one.text).ok());
  }
  EXPECT_TRUE(
      ParseConfigurationJson(R"({"a": {"b": 1}, "b": {"a": 1, "b": [{"a": 1}, {"a": 2}]}})").ok());
}

TEST(ParseConfigurationJson, FailuresHaveALineAndAColumn) {
  struct Case {
    const char* text;
    const char* place;
  };
  for (const Case& one : {
           Case{"", "1:1"},
           Case{"{", "1:2"},
           Case{"{\n", "2:1"},
           Case{"{,", "1:2"},
           Case{"{\"a\": 1 \"b\": 2}", "1:9"},               // position of the unexpected text
           Case{"{\"\xc3\xa9\xe2\x82\xac\": nul}", "1:11"},  // columns count characters, not bytes
           Case{"{\n \"a\": \"x\ny\"}", "2:9"},              // the line break in the string
           Case{"{\r\n \"a\": 01}", "2:7"},
           Case{"[1] x", "1:5"},
           Case{"{\n\"a\":\n 1e999}", "3:2"},
           Case{"{\"a\": 1,\n  \"a\": 2}", "2:3"},
           Case{"{\"\\\\\\\"\": 1,\n  \"\\\\\\\"\": 2}", "2:3"},
           Case{"{\"\": {\"\": 1,\n\"\": 2}}", "2:1"},
       }) {
    auto value = ParseConfigurationJson(one.text);
    ASSERT_FALSE(value.ok()) << one.text;
    EXPECT_EQ(value.status().detail(), one.place) << one.text;
    EXPECT_EQ(FileProblem("/etc/service.json", value.status()),
              "/etc/service.json:" + std::string(one.place) + ": " + value.status().message());
  }
  const std::string deep = "{\"a\":\n" + std::string(200, '[');
  EXPECT_EQ(ParseConfigurationJson(deep).status().detail(), "2:128");
  EXPECT_EQ(ParseConfigurationJson(std::string("[\n1\0]", 6)).status().detail(), "2:2");
}

TEST(ParseConfigurationJson, NamesTheUsualMistakes) {
  const std::pair<const char*, const char*> cases[] = {
      {"{\"a\": 1,\n}", ": the comma before it must go"},
      {"{\"a\": [1, 2,]}", ": the comma before it must go"},
      {"{\"a\": 1\n\"b\": 2}", ": a comma is missing before it"},
      {"{\"a\": \"x\" \"b\": 2}", ": a comma is missing before it"},
      {"[{} {}]", ": a comma is missing before it"},
      {"{\"a\" 1}", ": a colon is missing before it"},
      {"{\"a\" \"x\"}", ": a colon is missing before it"},
      {"{\n // why\n \"a\": 1}", ": JSON has no comments"},
      {"{\"a\": 1} # why", ": nothing may follow the end"},
      {"{}\n{", ": nothing may follow the end"},
      {"{'a': 1}", ": texts need double quotes"},
      {"{a: 1}", ": texts need double quotes"},
      {"{\"a\": Yes}", ": texts need double quotes"},
      {"{\"a\": True}", ": JSON has true, false and null"},
      {"[1, None]", ": JSON has true, false and null"},
      {"{\xe2\x80\x9c"
       "a\xe2\x80\x9d: 1}",
       ": texts need straight double quotes"},
      {"{\"a\": \"C:\\agents\"}", ": a backslash in a text is written twice"},
      {"a: 1\n", ": a JSON file begins with {"},
      {"{\"a\": \"x\ny\"}", ": a text must end on its line"},
      {"{\"a\": \"\xff\"}", ": this byte is not UTF-8: save the file as UTF-8"},
      {"{\"a\": 01}", ""},
      {"{\"a\": nul}", ""},
      {"{\"a\": {]", ""},
      {"{\"a\": 1", ": it ends too early"},
      {"", ": it ends too early"},
  };
  for (const auto& [text, mistake] : cases) {
    EXPECT_EQ(ParseConfigurationJson(text).status().message(),
              "not valid JSON" + std::string(mistake))
        << text;
  }
  const std::string utf16("\xff\xfe{\0}\0", 6);
  EXPECT_EQ(ParseConfigurationJson(utf16).status().message(),
            "not valid JSON: the file is UTF-16, save it as UTF-8");
}

TEST(FileProblem, OfTheWholeFileHasNoPlace) {
  EXPECT_EQ(FileProblem("f.json", Status(StatusCode::kInvalidArgument, "agent: is missing")),
            "f.json: agent: is missing");
}

TEST(ParseJson, RefusesInvalidUtf8AndTrailingText) {
  EXPECT_FALSE(ParseJson("\"\xff\"").ok());
  EXPECT_FALSE(ParseJson("{} x").ok());
  EXPECT_FALSE(ParseJson("").ok());
}

TEST(ParseJson, ANulEndsNoText) {
  using std::string_literals::operator""s;
  for (const std::string& text : {"{}\0"s, "{}\0x"s, "[1\0]"s, "\0{}"s, "[\"a\0\"]"s, "\0"s}) {
    auto value = ParseJson(text);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_TRUE(value.status().message().starts_with("not valid JSON at byte ")) << text;
    EXPECT_FALSE(ParseConfigurationJson(text).ok()) << text;
  }
  EXPECT_TRUE(ParseJson(R"(["\u0000"])").ok());
}

TEST(AppendJsonString, EscapesLikeTheLibrary) {
  std::string text = "a\"\\\n\t\x01\xc3\xa9\xf0\x9f\x98\x80";
  std::string out;
  AppendJsonString(out, text);
  EXPECT_EQ(ParseJson(out)->get<std::string>(), text);
}

// Plain bytes are copied in words, so each byte is tried at each place in and around a word.
TEST(AppendJsonString, FindsEachByteAtEachPlace) {
  for (int byte = 0; byte < 0x80; ++byte) {
    for (size_t place = 0; place < 20; ++place) {
      std::string text(20, 'x');
      text[place] = static_cast<char>(byte);
      std::string out;
      AppendJsonString(out, text);
      EXPECT_EQ(out, json(text).dump()) << byte << " at " << place;
    }
  }
}

TEST(AppendJsonString, ReplacesInvalidUtf8) {
  for (std::string bad : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82"}) {
    std::string out;
    AppendJsonString(out, "x" + bad + "y");
    auto parsed = ParseJson(out);
    ASSERT_TRUE(parsed.ok());
    EXPECT_NE(parsed->get<std::string>().find("\xef\xbf\xbd"), std::string::npos);
  }
}

}  // namespace
}  // namespace agent_graph

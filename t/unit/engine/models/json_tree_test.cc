#include "models/json_tree.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/json_fields.h"

namespace agent_graph::models {
namespace {

TEST(JsonTree, ReadsEveryKindOfValue) {
  const std::string text =
      R"( {"a": [1, -2.50, 1e3, "x", true, false, null, {}, []], "b": {"c": "d"}} )";
  JsonTree tree;
  const JsonNode* root = tree.Parse(text);
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(JsonText(*root), R"({"a":[1,-2.50,1e3,"x",true,false,null,{},[]],"b":{"c":"d"}})");
  const JsonNode* list = ArrayAt(*root, "a");
  ASSERT_NE(list, nullptr);
  std::vector<std::string> items;
  for (const JsonNode& item : JsonItems(*list)) items.push_back(JsonText(item));
  EXPECT_EQ(items.size(), 9u);
  EXPECT_EQ(StringAt(*ObjectAt(*root, "b"), "c"), "d");
  EXPECT_EQ(ObjectAt(*root, "a"), nullptr);
  EXPECT_EQ(FindMember(*root, "c"), nullptr) << "members of members are not its own";
}

TEST(JsonTree, DecodesEscapesInKeysAndStrings) {
  const std::string text =
      R"({"k\u00e9y":"a\n\"b\" \ud83d\ude00","plain":"p","again\\":"\u20ac","e":""})";
  JsonTree tree;
  const JsonNode* root = tree.Parse(text);
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(StringAt(*root, "k\xc3\xa9y"), "a\n\"b\" \xf0\x9f\x98\x80");
  EXPECT_EQ(StringAt(*root, "plain"), "p");
  EXPECT_EQ(StringAt(*root, "again\\"), "\xe2\x82\xac");
  ASSERT_NE(FindMember(*root, "e"), nullptr);
  EXPECT_EQ(StringAt(*root, "e"), "");
}

// A stream may be cut between the two halves of a surrogate pair.
TEST(JsonTree, ReplacesHalvesOfPairs) {
  JsonTree tree;
  const std::pair<std::string, std::string> cases[] = {
      {R"(["a\ud83d"])", "a\xef\xbf\xbd"},
      {R"(["\ude00b"])",
       "\xef\xbf\xbd"
       "b"},
      {R"(["\ud83d\ud83d\ude00"])", "\xef\xbf\xbd\xf0\x9f\x98\x80"},
      {R"(["\uD83Dx\\ud83d"])", "\xef\xbf\xbdx\\ud83d"},
  };
  for (const auto& [text, decoded] : cases) {
    const JsonNode* root = tree.Parse(text);
    ASSERT_NE(root, nullptr) << text;
    EXPECT_EQ((*JsonItems(*root).begin()).text, decoded) << text;
  }
  for (const char* text :
       {R"(["\ud83d)", R"(["\ud83d"],)", R"(["\ud8"])", R"(["\ud83d\u12"])", R"(["\)"}) {
    EXPECT_EQ(tree.Parse(text), nullptr) << text;
  }
}

// The parser passes on a long decoded string in several parts.
TEST(JsonTree, DecodesStringsOfAnyLength) {
  std::string encoded, decoded;
  for (int i = 0; i < 10'000; ++i) {
    encoded += R"(line\n)";
    decoded += "line\n";
  }
  const std::string text = "[\"" + encoded + "\",\"\\t\",\"" + encoded + "\"]";
  JsonTree tree;
  for (int i = 0; i < 2; ++i) {
    const JsonNode* root = tree.Parse(text);
    ASSERT_NE(root, nullptr);
    std::vector<std::string_view> strings;
    for (const JsonNode& item : JsonItems(*root)) strings.push_back(item.text);
    EXPECT_EQ(strings, (std::vector<std::string_view>{decoded, "\t", decoded}));
  }
}

TEST(JsonTree, IntegersMustFitExactly) {
  const std::string text = R"({"a":12,"b":-9223372036854775808,"c":9223372036854775807,
      "d":9223372036854775808,"e":12.0,"f":12.5,"g":1e300,"h":"12","i":-9.223372036854775808e18})";
  JsonTree tree;
  const JsonNode* root = tree.Parse(text);
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(IntegerAt(*root, "a"), 12);
  EXPECT_EQ(IntegerAt(*root, "b"), INT64_MIN);
  EXPECT_EQ(IntegerAt(*root, "c"), INT64_MAX);
  EXPECT_EQ(IntegerAt(*root, "d"), std::nullopt);
  EXPECT_EQ(IntegerAt(*root, "e"), 12);
  EXPECT_EQ(IntegerAt(*root, "f"), std::nullopt);
  EXPECT_EQ(IntegerAt(*root, "g"), std::nullopt);
  EXPECT_EQ(IntegerAt(*root, "h"), std::nullopt);
  EXPECT_EQ(IntegerAt(*root, "i"), INT64_MIN);
}

TEST(JsonTree, RefusesMalformedJson) {
  JsonTree tree;
  for (const char* text : {"", " ", "{", "{\"a\":1", "[1,]", "{} x", "{}{}", "nul", "\"a",
                           "{'a':1}", "[01]", "\"\x01\"", "// c\n{}"}) {
    EXPECT_EQ(tree.Parse(text), nullptr) << text;
    EXPECT_NE(tree.Parse("{}"), nullptr) << "after " << text;
  }
}

TEST(JsonTree, IsBoundedInDepthAndValues) {
  JsonTree tree;
  EXPECT_NE(tree.Parse(std::string(32, '[') + std::string(32, ']')), nullptr);
  EXPECT_EQ(tree.Parse(std::string(33, '[') + std::string(33, ']')), nullptr);
  std::string many = "[0";
  for (int i = 1; i < 99'999; ++i) many += ",0";
  EXPECT_NE(tree.Parse(many + "]"), nullptr);
  EXPECT_EQ(tree.Parse(many + ",0]"), nullptr);
}

// A character may be split over two chunks, so invalid UTF-8 is kept until the parts are joined.
TEST(JsonTree, LeavesInvalidUtf8AsItIs) {
  const std::string text = "{\"a\":\"\xe2\x82\",\"b\":\"x\\n\xff\"}";
  JsonTree tree;
  const JsonNode* root = tree.Parse(text);
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(StringAt(*root, "a"), "\xe2\x82");
  EXPECT_EQ(StringAt(*root, "b"), "x\n\xff");
}

}  // namespace
}  // namespace agent_graph::models

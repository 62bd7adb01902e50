#include "api/validation.h"

#include <gtest/gtest.h>

#include <array>

#include "agent_graph/json.h"
#include "api/query.h"
#include "settings/media_urls.h"

namespace agent_graph::api {
namespace {

const settings::MediaUrls kAllUrls;
const MessageLimits kLimits{kAllUrls, 1000, 1024 * 1024};

TEST(ThreadId, IsKeptUnlessBlankOrBelowOne) {
  for (const char* good : {"a", "1", "+1", "007", "00000000000000000000001", "-a", "1.0", "0x0",
                           " a ", "a/b", "\xc3\xa9", "99999999999999999999999"}) {
    EXPECT_EQ(ThreadIdProblem(good), std::nullopt) << good;
  }
  for (const char* bad : {"", " ", "\t\n", "0", "+0", "-0", "-1", "000", "-999999999999999999999",
                          "\xff", "\xc3", "\xed\xa0\x80", "\xc3 a"}) {
    EXPECT_NE(ThreadIdProblem(bad), std::nullopt) << bad;
  }
  for (const char* step : {".", "..", "a/..", "a/../b", "./a", "/.."}) {
    EXPECT_NE(ThreadIdProblem(step), std::nullopt) << step;
    EXPECT_NE(MessageIdProblem(step), std::nullopt) << step;
    EXPECT_EQ(LabelProblem(step), std::nullopt) << step << " is no part of a path";
  }
  for (const char* blank : {"\u00a0", "\u3000", " \u2003\t\u2028", "\u0085", "\x1f"}) {
    EXPECT_NE(ThreadIdProblem(blank), std::nullopt) << blank;
  }
  EXPECT_EQ(ThreadIdProblem("\u3000x"), std::nullopt);
  EXPECT_EQ(ThreadIdProblem("\u200b"), std::nullopt) << "no white space";
  EXPECT_EQ(ThreadIdProblem(std::string(1024, 'x')), std::nullopt);
  EXPECT_NE(ThreadIdProblem(std::string(1025, 'x')), std::nullopt);
  EXPECT_NE(ThreadIdProblem(std::string("a\0b", 3)), std::nullopt);
}

TEST(Messages, AUrlThatIsNotAllowedIsAProblemWithItsPath) {
  const auto paths_of = [](const char* content) {
    const json body = {{"messages", {{{"role", "user"}, {"content", json::parse(content)}}}}};
    Problems problems;
    ReadMessages(body, "messages", kLimits, problems);
    std::vector<std::string> paths;
    for (const ErrorDetail& detail : std::move(problems).Error().details) {
      std::string path;
      for (const std::string& part : detail.location) path += "/" + part;
      paths.push_back(path);
    }
    return paths;
  };
  using Paths = std::vector<std::string>;
  EXPECT_EQ(paths_of(R"([{"type":"text","text":"x"},
                         {"type":"image","media":{"kind":"url","url":"file:///etc/passwd"}},
                         {"type":"document","url":"gopher://x"},
                         {"type":"video","media":{"url":"http://a@b.example/"}}])"),
            (Paths{"/body/messages/0/content/1/media/url", "/body/messages/0/content/2/url",
                   "/body/messages/0/content/3/media/url"}));
  EXPECT_EQ(
      paths_of(R"([{"type":"image","media":{"kind":"file_id","file_id":"f","url":"file:///x"}},
                         {"type":"audio","data_base64":"QUJD","url":"file:///x"},
                         {"type":"image","media":{"url":"https://example.com/a.png"}},
                         {"type":"text","text":"file:///x","url":"file:///x"}])"),
      Paths{});
  EXPECT_EQ(paths_of(R"("file:///x")"), Paths{});
}

TEST(Messages, OneThatNoPathCouldNameGetsAnId) {
  for (const char* blank : {" ", "\t", "\u00a0"}) {
    json body = {{"messages", {{{"role", "user"}, {"content", "x"}, {"message_id", blank}}}}};
    Problems problems;
    EXPECT_EQ(ReadMessages(body, "messages", kLimits, problems).at(0).id, "");
    EXPECT_TRUE(problems.empty());
  }
}

TEST(MessageId, MayBeAnyText) {
  EXPECT_EQ(MessageIdProblem("0"), std::nullopt);
  EXPECT_EQ(MessageIdProblem("-1"), std::nullopt);
  EXPECT_NE(MessageIdProblem(" "), std::nullopt);
}

TEST(ReadInteger, HasBoundsAndADefault) {
  json body = json::parse(R"({"low":0,"min":1,"max":100,"high":101,"real":25.0,"odd":2.5,
                              "text":"5","null":null,"huge":99999999999999999999,"flag":true})");
  Problems problems;
  auto read = [&](const char* key) { return ReadInteger(body, key, 25, 1, 100, problems); };
  EXPECT_EQ(read("absent"), 25);
  EXPECT_EQ(read("null"), 25);
  EXPECT_EQ(read("min"), 1);
  EXPECT_EQ(read("max"), 100);
  EXPECT_EQ(read("real"), 25);
  EXPECT_TRUE(problems.empty());
  for (const char* key : {"low", "high", "odd", "text", "huge", "flag"}) read(key);
  ErrorInfo error = std::move(problems).Error();
  ASSERT_EQ(error.details.size(), 6u);
  EXPECT_EQ(error.details[0].location, (std::vector<std::string>{"body", "low"}));
  EXPECT_EQ(error.details[0].message, "must be from 1 to 100");
  EXPECT_EQ(error.details[2].message, "must be an integer");
}

TEST(ReadChoice, NamesTheChoices) {
  static constexpr std::array<std::string_view, 2> kNames = {"low", "full"};
  Problems problems;
  EXPECT_EQ(ReadChoice(json::parse(R"({"g":"full"})"), "g", kNames, 0, problems), 1u);
  EXPECT_EQ(ReadChoice(json::parse("{}"), "g", kNames, 0, problems), 0u);
  EXPECT_TRUE(problems.empty());
  ReadChoice(json::parse(R"({"g":"medium"})"), "g", kNames, 0, problems);
  EXPECT_EQ(std::move(problems).Error().message, "body.g: must be one of low, full");
}

TEST(ReadMessages, WantsAtLeastOne) {
  for (const char* text : {"{}", R"({"messages":null})", R"({"messages":[]})",
                           R"({"messages":"hello"})", R"({"messages":{}})"}) {
    Problems problems;
    ReadMessages(json::parse(text), "messages", kLimits, problems);
    ErrorInfo error = std::move(problems).Error();
    ASSERT_EQ(error.details.size(), 1u) << text;
    EXPECT_EQ(error.details[0].location, (std::vector<std::string>{"body", "messages"}));
  }
}

TEST(ReadMessages, NamesTheFieldOfEachBadMessage) {
  json body = json::parse(
      R"({"messages":[{"role":"user","content":"fine"},{"role":"king","content":"x"},5]})");
  Problems problems;
  ReadMessages(body, "messages", kLimits, problems);
  ErrorInfo error = std::move(problems).Error();
  EXPECT_EQ(error.error, ApiError::kValidation);
  ASSERT_EQ(error.details.size(), 2u);
  EXPECT_EQ(error.details[0].location, (std::vector<std::string>{"body", "messages", "1", "role"}));
  EXPECT_EQ(error.details[1].location, (std::vector<std::string>{"body", "messages", "2"}));
  EXPECT_TRUE(error.message.starts_with("body.messages.1.role: ")) << error.message;
}

TEST(ReadMessages, BoundsEachMessage) {
  json body = {{"messages", {{{"role", "user"}, {"content", std::string(3000, 'x')}}}}};
  Problems problems;
  ReadMessages(body, "messages", {kAllUrls, 3100, 2048}, problems);
  EXPECT_FALSE(problems.empty());
  Problems long_id;
  body = {
      {"messages", {{{"role", "user"}, {"content", "x"}, {"message_id", std::string(1025, 'i')}}}}};
  ReadMessages(body, "messages", kLimits, long_id);
  EXPECT_EQ(std::move(long_id).Error().details.at(0).location.back(), "message_id");
}

TEST(ReadMessages, RefusesIdsThatNoPathCanName) {
  for (const std::string& id : {std::string(".."), std::string("a/./b"), std::string("a\0b", 3)}) {
    json body = {{"messages", {{{"role", "user"}, {"content", "x"}, {"message_id", id}}}}};
    Problems problems;
    ReadMessages(body, "messages", kLimits, problems);
    EXPECT_EQ(std::move(problems).Error().details.at(0).location,
              (std::vector<std::string>{"body", "messages", "0", "message_id"}));
  }
}

TEST(Problems, AreBounded) {
  Problems problems;
  for (int i = 0; i < 1000; ++i) problems.Add({"body"}, "wrong", "x");
  EXPECT_EQ(std::move(problems).Error().details.size(), kDetailsMax);
}

TEST(Query, DecodesAndTakesTheLast) {
  Query query("a=1&a=2&b=x%20y+z&c&d=%zz%4&&=e&%61%62=3");
  EXPECT_EQ(query.Find("a"), "2");
  EXPECT_EQ(query.Find("b"), "x y z");
  EXPECT_EQ(query.Find("c"), "");
  EXPECT_EQ(query.Find("d"), "%zz%4");
  EXPECT_EQ(query.Find("ab"), "3");
  EXPECT_EQ(query.Find("none"), std::nullopt);
}

TEST(ReadPage, ClampsTheLimit) {
  Problems problems;
  EXPECT_EQ(ReadPage(Query(""), problems).limit, 100u);
  EXPECT_EQ(ReadPage(Query("limit=1"), problems).limit, 1u);
  EXPECT_EQ(ReadPage(Query("limit=5000"), problems).limit, 1000u);
  EXPECT_EQ(ReadPage(Query("limit=99999999999999999999"), problems).limit, 1000u);
  EXPECT_EQ(ReadPage(Query("offset=7&search=a%20b"), problems).offset, 7u);
  EXPECT_EQ(ReadPage(Query("search=a%20b"), problems).search, "a b");
  EXPECT_TRUE(problems.empty());
}

TEST(ReadPage, RefusesWhatIsNotACount) {
  for (const char* query : {"limit=0", "limit=-1", "limit=abc", "limit=", "limit=1.5", "offset=-1",
                            "offset=x", "limit=%31x"}) {
    Problems problems;
    ReadPage(Query(query), problems);
    ErrorInfo error = std::move(problems).Error();
    ASSERT_EQ(error.details.size(), 1u) << query;
    EXPECT_EQ(error.details[0].location[0], "query");
  }
}

}  // namespace
}  // namespace agent_graph::api

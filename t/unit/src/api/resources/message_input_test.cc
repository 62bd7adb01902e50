#include "api/resources/message_input.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"
#include "settings/media_urls.h"

namespace agent_graph::api {
namespace {

const settings::MediaUrls kAllUrls;
const MessageLimits kLimits{kAllUrls, 1000, 1024 * 1024};

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

TEST(Messages, ABlankIdCountsAsNone) {
  for (const char* blank : {" ", "\t", "\u00a0"}) {
    json body = {{"messages", {{{"role", "user"}, {"content", "x"}, {"message_id", blank}}}}};
    Problems problems;
    EXPECT_EQ(ReadMessages(body, "messages", kLimits, problems).at(0).id, "");
    EXPECT_TRUE(problems.empty());
  }
}

TEST(ReadMessages, AMessageThatGrowsBeyondTheLimitIsRefused) {
  json numbers = json::array();
  for (int i = 0; i < 200; ++i) numbers.push_back(1e14);
  const json message = {
      {"role", "assistant"},
      {"content",
       {{{"type", "tool_call"}, {"id", "c"}, {"name", "f"}, {"args", {{"n", numbers}}}}}}};
  const json body = {{"messages", {message}}};
  const auto accepts = [&](size_t body_bytes, size_t message_bytes_max) {
    Problems problems;
    ReadMessages(body, "messages", {kAllUrls, body_bytes, message_bytes_max}, problems);
    return problems.empty();
  };
  // A client may write the numbers as 1e14.
  const size_t sent = 200 * 5 + 100;
  EXPECT_FALSE(accepts(sent, 2 * sent));
  EXPECT_FALSE(accepts(sent, 5 * sent));
  EXPECT_TRUE(accepts(sent, 8 * sent));
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

TEST(ReadMessages, RefusesIdsWithDotComponents) {
  for (const std::string& id : {std::string(".."), std::string("a/./b"), std::string("a\0b", 3)}) {
    json body = {{"messages", {{{"role", "user"}, {"content", "x"}, {"message_id", id}}}}};
    Problems problems;
    ReadMessages(body, "messages", kLimits, problems);
    EXPECT_EQ(std::move(problems).Error().details.at(0).location,
              (std::vector<std::string>{"body", "messages", "0", "message_id"}));
  }
}

}  // namespace
}  // namespace agent_graph::api

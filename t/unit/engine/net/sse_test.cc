#include "net/sse.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace agent_graph::net {
namespace {

using Events = std::vector<std::string>;

// Parses `text` in pieces of `size` bytes; returns events as "type|data".
Events Parse(std::string_view text, size_t size, bool finish = false) {
  SseParser parser;
  Events events;
  const auto take = [&] {
    SseEvent event;
    for (;;) {
      const Result<bool> next = parser.Next(event);
      EXPECT_TRUE(next.ok());
      if (!next.ok() || !*next) return;
      events.push_back(std::string(event.type) + "|" + std::string(event.data));
    }
  };
  for (; !text.empty(); text.remove_prefix(std::min(size, text.size()))) {
    parser.Feed(std::string(text.substr(0, size)));
    take();
  }
  if (finish) parser.Finish();
  take();
  return events;
}

struct Example {
  const char* name;
  std::string text;
  Events events;
};

class SseExamples : public ::testing::TestWithParam<Example> {};

TEST_P(SseExamples, InPiecesOfEverySize) {
  const Example& example = GetParam();
  for (size_t size = 1; size <= example.text.size(); ++size) {
    EXPECT_EQ(Parse(example.text, size), example.events) << "pieces of " << size;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SseExamples,
    ::testing::Values(Example{"LineFeed", "data: a\n\ndata: b\n\n", {"|a", "|b"}},
                      Example{"CarriageReturn", "data: a\r\rdata: b\r\r", {"|a", "|b"}},
                      Example{"Both", "data: a\r\n\r\ndata: b\r\n\r\n", {"|a", "|b"}},
                      Example{"Mixed", "data: a\n\r\ndata: b\r\n\n", {"|a", "|b"}},
                      Example{"NoSpace", "data:a\n\n", {"|a"}},
                      Example{"OneSpaceOnly", "data:  a \n\n", {"| a "}},
                      Example{"ByteOrderMark",
                              "\xef\xbb\xbf"
                              "data: a\n\n",
                              {"|a"}},
                      Example{"PartOfAByteOrderMark",
                              "\xef\xbb"
                              "data: a\n\ndata: b\n\n",
                              {"|b"}},
                      Example{"Comments", ": ping\n\n:\ndata: a\n: x\n\n", {"|a"}},
                      Example{"SeveralLines", "data: a\ndata\ndata: c\n\n", {"|a\n\nc"}},
                      Example{"Types", "event: error\ndata: a\n\ndata: b\n\n", {"error|a", "|b"}},
                      Example{"TypeWithoutData", "event: error\n\ndata: b\n\n", {"|b"}},
                      Example{"OtherFields", "id: 7\nretry: 10\nnonsense\ndata: a\n\n", {"|a"}},
                      Example{"EmptyData", "data:\n\n", {"|"}},
                      Example{"ManyBlankLines", "\n\n\r\n\r\rdata: a\n\n\n\n", {"|a"}},
                      Example{"CharactersOfManyBytes",
                              "data: \xe2\x82\xac\xf0\x9f\x98\x80\n\n",
                              {"|\xe2\x82\xac\xf0\x9f\x98\x80"}},
                      Example{"NoBlankLineYet", "data: a\n", {}}),
    [](const auto& example) { return example.param.name; });

TEST(SseParser, EndCompletesTheLastEvent) {
  EXPECT_EQ(Parse("data: a\n\ndata: b", 3, true), (Events{"|a", "|b"}));
  EXPECT_EQ(Parse("data: a\n", 3, true), Events{"|a"});
  EXPECT_EQ(Parse(": only a comment", 3, true), Events{});
  EXPECT_EQ(Parse("\xef\xbb", 1, true), Events{});
}

// The last event id after parsing all of `text` in pieces of `size` bytes.
std::string LastId(std::string_view text, size_t size = 1) {
  SseParser parser;
  SseEvent event;
  for (; !text.empty(); text.remove_prefix(std::min(size, text.size()))) {
    parser.Feed(std::string(text.substr(0, size)));
    while (*parser.Next(event)) {
    }
  }
  return parser.last_event_id();
}

TEST(SseParser, IdsOfCompleteEvents) {
  EXPECT_EQ(LastId("id: a\ndata: x\n\n"), "a");
  EXPECT_EQ(LastId("id: a\ndata: \n\n"), "a") << "an empty event primes the reader";
  EXPECT_EQ(LastId("id: a\n\n"), "a");
  EXPECT_EQ(LastId("id: a\ndata: x\n\nid: b\ndata: y\n"), "a") << "the second one is cut";
  EXPECT_EQ(LastId("id: a\ndata: x\n\ndata: y\n\n"), "a") << "it stays until the next id";
  EXPECT_EQ(LastId("id: a\n\nid\n\n"), "") << "an empty id forgets it";
  EXPECT_EQ(LastId("data: x\n\n"), "");
}

TEST(SseParser, IdsThatFitIntoNoHeader) {
  EXPECT_EQ(LastId("id: a\n\nid: b\x01\n\n"), "");
  EXPECT_EQ(LastId("id: a\n\nid: \xc3\xa4\n\n"), "");
  EXPECT_EQ(LastId("id: " + std::string(kSseIdBytesMax, 'x') + "\n\n", 64),
            std::string(kSseIdBytesMax, 'x'));
  EXPECT_EQ(LastId("id: " + std::string(kSseIdBytesMax + 1, 'x') + "\n\n", 64), "");
}

TEST(SseParser, Retry) {
  const auto retry = [](const std::string& text) {
    SseParser parser;
    SseEvent event;
    parser.Feed(text);
    while (*parser.Next(event)) {
    }
    return parser.retry() ? parser.retry()->count() : -1;
  };
  EXPECT_EQ(retry("retry: 500\ndata:\n\n"), 500);
  EXPECT_EQ(retry("retry: 500\n\nretry:0\n\n"), 0);
  EXPECT_EQ(retry("data: x\n\n"), -1);
  for (const char* wrong : {"", "-1", "+1", "1.5", "1s", " 1", "99999999999999999999"}) {
    EXPECT_EQ(retry("retry:" + std::string(wrong) + " \n\n"), -1) << wrong;
  }
  EXPECT_EQ(retry("retry: 9999999999999999\n\n"), 24 * 3600 * 1000) << "bounded";
}

TEST(SseParser, LineWithoutEndIsBounded) {
  SseParser parser(100);
  SseEvent event;
  parser.Feed("data: " + std::string(94, 'x'));
  ASSERT_TRUE(parser.Next(event).ok());
  parser.Feed("x");
  EXPECT_EQ(parser.Next(event).status().code(), StatusCode::kResourceExhausted);
  parser.Feed("\n\n");
  EXPECT_FALSE(parser.Next(event).ok()) << "it stays failed";
}

TEST(SseParser, EventOfManyLinesIsBounded) {
  SseParser parser(100);
  SseEvent event;
  Status status;
  for (int i = 0; i < 20 && status.ok(); ++i) {
    parser.Feed("data: 0123456789\n");
    status = parser.Next(event).status();
  }
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
}

// A search for the next newline after each line would read 8 TB.
TEST(SseParser, ManyLinesThatEndWithCarriageReturns) {
  SseParser parser;
  SseEvent event;
  parser.Feed(std::string(4 * 1024 * 1024, '\r') + "data: x\r\r\ndata: y\n");
  ASSERT_TRUE(*parser.Next(event));
  EXPECT_EQ(event.data, "x");
  ASSERT_FALSE(*parser.Next(event));
  parser.Feed("data: z\r\rdata: end\n\n");
  ASSERT_TRUE(*parser.Next(event));
  EXPECT_EQ(event.data, "y\nz");
  ASSERT_TRUE(*parser.Next(event));
  EXPECT_EQ(event.data, "end");
}

TEST(SseParser, TakesAnEventOfTheFullSize) {
  const std::string data(kSseEventBytesMax - 6, 'x');
  EXPECT_EQ(Parse("data: " + data + "\n\n", 10'000), Events{"|" + data});
}

}  // namespace
}  // namespace agent_graph::net

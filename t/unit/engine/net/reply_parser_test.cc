#include "net/reply_parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace agent_graph::net {
namespace {

constexpr size_t kHeadMax = 1000;

struct Parsed {
  Status status;
  int code = 0;
  std::string thing;  // the header X-Thing
  std::string body;
  bool is_complete = false;
  bool keeps_connection = false;
};

// Parses `bytes` in pieces of `size` and, if `ends`, the end of the connection.
Parsed Parse(std::string_view bytes, size_t size, bool ends = false, bool to_head_request = false) {
  ReplyParser parser(to_head_request, kHeadMax);
  Parsed parsed;
  while (!bytes.empty() && parsed.status.ok() && !parser.is_complete()) {
    parsed.status = parser.Take(bytes.substr(0, size), parsed.body);
    bytes.remove_prefix(std::min(size, bytes.size()));
  }
  if (parsed.status.ok() && ends) parsed.status = parser.TakeEnd();
  if (!parsed.status.ok()) return parsed;
  parsed.is_complete = parser.is_complete();
  if (parser.has_head()) {
    parsed.code = parser.head().status;
    parsed.thing = parser.head().Header("x-thing");
  }
  if (parsed.is_complete) parsed.keeps_connection = parser.keeps_connection();
  return parsed;
}

TEST(ReplyParserTest, PiecesOfAnySizeGiveTheSameReply) {
  const std::string reply =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Thing: a\r\n\r\n"
      "5;name=value\r\nhello\r\n6\r\n world\r\n0\r\nX-Trailer: b\r\n\r\n";
  for (size_t size = 1; size <= reply.size(); ++size) {
    const Parsed parsed = Parse(reply, size);
    ASSERT_TRUE(parsed.status.ok()) << size << ": " << parsed.status.ToString();
    EXPECT_EQ(parsed.body, "hello world") << size;
    EXPECT_TRUE(parsed.is_complete && parsed.keeps_connection) << size;
  }
}

TEST(ReplyParserTest, NamesAreInLowerCaseAndTrailersAreNoHeaders) {
  ReplyParser parser(false, kHeadMax);
  std::string body;
  ASSERT_TRUE(parser
                  .Take("HTTP/1.1 200 OK\r\nX-One:  a b \r\nTransfer-Encoding: chunked\r\n\r\n"
                        "0\r\nX-Two: c\r\n\r\n",
                        body)
                  .ok());
  EXPECT_EQ(parser.head().Header("x-one"), "a b");
  EXPECT_EQ(parser.head().Header("x-two"), "");
}

TEST(ReplyParserTest, TheEndOfTheConnectionEndsABodyWithoutLength) {
  const std::string reply = "HTTP/1.1 200 OK\r\n\r\nhello";
  for (const size_t size : {size_t{1}, size_t{7}, reply.size()}) {
    EXPECT_FALSE(Parse(reply, size).is_complete);
    const Parsed parsed = Parse(reply, size, /*ends=*/true);
    ASSERT_TRUE(parsed.status.ok()) << parsed.status.ToString();
    EXPECT_EQ(parsed.body, "hello");
    EXPECT_TRUE(parsed.is_complete);
    EXPECT_FALSE(parsed.keeps_connection);
  }
}

TEST(ReplyParserTest, TheEndOfTheConnectionCutsEverythingElse) {
  for (const char* reply :
       {"H", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n"}) {
    const Parsed parsed = Parse(reply, 100, /*ends=*/true);
    EXPECT_EQ(parsed.status.message(), "the server closed the connection too early") << reply;
  }
  ReplyParser parser(false, kHeadMax);
  EXPECT_EQ(parser.TakeEnd().message(), "the server closed the connection too early");
}

TEST(ReplyParserTest, InterimRepliesAreSkipped) {
  const std::string reply =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
      "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok";
  for (size_t size = 1; size <= reply.size(); ++size) {
    const Parsed parsed = Parse(reply, size);
    EXPECT_EQ(parsed.code, 201) << size;
    EXPECT_EQ(parsed.body, "ok") << size;
  }
}

TEST(ReplyParserTest, SomeRepliesHaveNoBody) {
  for (const char* reply :
       {"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n"}) {
    EXPECT_TRUE(Parse(reply, 100).is_complete) << reply;
  }
  const Parsed to_head =
      Parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 100, false, /*to_head_request=*/true);
  EXPECT_TRUE(to_head.is_complete && to_head.keeps_connection);
}

TEST(ReplyParserTest, KnowsWhetherTheConnectionIsKept) {
  const auto keeps = [](const std::string& version, const std::string& header) {
    return Parse("HTTP/" + version + " 200 OK\r\nContent-Length: 2\r\n" + header + "\r\nok", 100)
        .keeps_connection;
  };
  EXPECT_TRUE(keeps("1.1", ""));
  EXPECT_FALSE(keeps("1.1", "Connection: close\r\n"));
  EXPECT_FALSE(keeps("1.0", ""));
  EXPECT_TRUE(keeps("1.0", "Connection: keep-alive\r\n"));
}

// The next reply on this connection would begin with them.
TEST(ReplyParserTest, AConnectionWithUnexpectedBytesIsNotKept) {
  const Parsed parsed = Parse("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1", 100);
  EXPECT_EQ(parsed.body, "ok");
  EXPECT_FALSE(parsed.keeps_connection);
}

// Servers that are written by hand and CGI programs send such heads, and libcurl takes them.
TEST(ReplyParserTest, LinesMayEndWithLineFeedAlone) {
  for (const std::string reply :
       {"HTTP/1.1 200 OK\nContent-Length: 2\nX-Thing: a\n\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\nX-Thing: a\r\n\nok",
        "HTTP/1.1 200 OK\nContent-Length: 2\r\nX-Thing: a\n\r\nok",
        "HTTP/1.1 200 OK\nContent-Length: 2\nX-Thing:\n\ta\n\nok",
        "HTTP/1.1 103 Early Hints\n\nHTTP/1.1 200\nContent-Length: 2\nX-Thing: a\n\nok"}) {
    for (size_t size = 1; size <= reply.size(); ++size) {
      const Parsed parsed = Parse(reply, size);
      ASSERT_TRUE(parsed.status.ok()) << size << ": " << reply;
      EXPECT_EQ(parsed.code, 200);
      EXPECT_EQ(parsed.thing, "a") << reply;
      EXPECT_EQ(parsed.body, "ok") << reply;
    }
  }
}

TEST(ReplyParserTest, AStatusLineMayEndBehindItsCode) {
  for (const std::string status : {"HTTP/1.1 200\r\n", "HTTP/1.1 200 \r\n"}) {
    const std::string reply = status + "Content-Length: 2\r\nX-Thing: a\r\n\r\nok";
    for (size_t size = 1; size <= reply.size(); ++size) {
      const Parsed parsed = Parse(reply, size);
      ASSERT_TRUE(parsed.status.ok()) << size << ": " << reply;
      EXPECT_EQ(parsed.code, 200);
      EXPECT_EQ(parsed.thing, "a");
      EXPECT_TRUE(parsed.keeps_connection);
    }
  }
}

// A server that copies a user's text with a LF into a header lets the user write headers. The reply
// ends where they say, and what follows must not answer another request.
TEST(ReplyParserTest, AConnectionWithBareLineFeedsIsNotKept) {
  for (const char* reply :
       {"HTTP/1.1 200 OK\r\nX-Echo: user\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\nok",
        "HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"}) {
    const Parsed parsed = Parse(reply, 100);
    EXPECT_TRUE(parsed.is_complete) << reply;
    EXPECT_FALSE(parsed.keeps_connection) << reply;
  }
}

TEST(ReplyParserTest, OnlyLinesOfTheHeadMayEndWithLineFeedAlone) {
  const std::string head = "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n";
  EXPECT_EQ(Parse(head + "2\r\nok\r\n0\r\n\r\n", 100).body, "ok");
  EXPECT_EQ(Parse(head + "2\nok\n0\n\n", 100, /*ends=*/true).status.code(),
            StatusCode::kUnavailable);
}

TEST(ReplyParserTest, WhatIsNotHttpIsRefused) {
  for (const char* reply :
       {"SSH-2.0-OpenSSH_9.2p1\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 020 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\nno colon\n\n", "HTTP/1.1 200 OK\nX-Thing: a\rb\n\n", "\n\n",
        "\nHTTP/1.1 200 OK\n\n", "HTTP/1.1 2000\r\n\r\n", "HTTP/1.1 200\tOK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    const Parsed parsed = Parse(reply, 100);
    EXPECT_EQ(parsed.status.code(), StatusCode::kUnavailable) << reply;
  }
}

TEST(ReplyParserTest, TheHeadIsBounded) {
  const std::string line = "X-Filler: " + std::string(100, 'x') + "\r\n";
  std::string head = "HTTP/1.1 200 OK\r\n";
  while (head.size() <= kHeadMax) head += line;
  for (const size_t size : {size_t{50}, head.size()}) {
    EXPECT_EQ(Parse(head, size).status.code(), StatusCode::kResourceExhausted) << size;
  }
}

constexpr char kChunked[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(ReplyParserTest, TheChunkLineIsBounded) {
  const std::string most = kChunked + ("2;x=" + std::string(kHeadMax / 2, 'x')) + "\r\nok\r\n";
  EXPECT_EQ(Parse(most + "0\r\n\r\n", 50).body, "ok");
  const std::string endless = kChunked + ("2;x=" + std::string(kHeadMax, 'x'));
  for (const size_t size : {size_t{1}, size_t{50}, endless.size()}) {
    EXPECT_EQ(Parse(endless, size).status.code(), StatusCode::kResourceExhausted) << size;
  }
}

TEST(ReplyParserTest, TrailersAreBounded) {
  const std::string body = std::string(kChunked) + "2\r\nok\r\n0\r\n";
  std::string trailers;
  while (trailers.size() <= kHeadMax) trailers += "X-Trailer: a\r\n";
  EXPECT_TRUE(Parse(body + trailers.substr(0, 5 * 14) + "\r\n", 50).is_complete);
  for (const size_t size : {size_t{1}, size_t{50}, body.size() + trailers.size()}) {
    EXPECT_EQ(Parse(body + trailers, size).status.code(), StatusCode::kResourceExhausted) << size;
  }
}

TEST(ReplyParserTest, InterimRepliesAreBounded) {
  std::string interim;
  while (interim.size() <= kHeadMax) interim += "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
  for (const size_t size : {size_t{1}, size_t{50}, interim.size()}) {
    EXPECT_EQ(Parse(interim, size).status.code(), StatusCode::kResourceExhausted) << size;
  }
}

}  // namespace
}  // namespace agent_graph::net

#include "net/http_client.h"

#include <gtest/gtest.h>

#include <future>
#include <string>

#include "http_client_fixture.h"
#include "runtime/signal.h"
#include "scripted_server.h"

namespace agent_graph::net {
namespace {

using std::chrono::milliseconds;
using testing::Connection;
using testing::ScriptedServer;

TEST_P(HttpClientWaysTest, SendsTheRequestAndReadsTheReply) {
  std::promise<std::string> received;
  ScriptedServer server([&](Connection& connection) {
    received.set_value(connection.ReadRequest().value_or(""));
    connection.Send("HTTP/1.1 418 Teapot\r\nX-Thing:  a b \r\nContent-Length: 2\r\n\r\nno");
  });
  Run([&] {
    auto call = client_.Start(Post(server.url("/path?q=1")), {});
    ASSERT_TRUE(call.ok());
    auto head = (*call)->ReadHead();
    ASSERT_TRUE(head.ok());
    EXPECT_EQ(head->status, 418);
    EXPECT_EQ(head->Header("x-thing"), "a b");
    EXPECT_EQ(head->Header("absent"), "");
    EXPECT_EQ(*(*call)->Read(), "no");
    EXPECT_EQ(*(*call)->Read(), "");
    EXPECT_EQ(*(*call)->Read(), "") << "the end stays the end";
  });
  const std::string request = received.get_future().get();
  EXPECT_TRUE(request.starts_with("POST /path?q=1 HTTP/1.1\r\n")) << request;
  EXPECT_NE(request.find("Content-Type: text/plain\r\n"), std::string::npos);
  EXPECT_EQ(request.find("Expect"), std::string::npos);
  EXPECT_TRUE(request.ends_with("\r\n\r\nquestion"));
}

TEST_P(HttpClientWaysTest, HandsOverTheHeadersOnce) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send("HTTP/1.1 200 OK\r\nX-Thing: a\r\nContent-Length: 5\r\n\r\nhello");
  });
  Run([&] {
    const auto call = *client_.Start(Post(server.url()), {});
    const Result<HttpHead> head = call->ReadHead();
    ASSERT_TRUE(head.ok());
    EXPECT_EQ(*call->ReadRest(100), "hello");
    EXPECT_EQ(head->Header("x-thing"), "a");
    const Result<HttpHead> again = call->ReadHead();
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->status, 200);
    EXPECT_TRUE(again->headers.empty());
  });
}

TEST_P(HttpClientWaysTest, SkipsInterimReplies) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + std::string(kOk));
  });
  const Result<std::string> body = Fetch(Post(server.url()));
  ASSERT_TRUE(body.ok()) << body.status().ToString();
  EXPECT_EQ(*body, "hello");
}

TEST_P(HttpClientWaysTest, HandsOverEachPieceAsItArrives) {
  std::promise<void> first_was_read;
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kChunkedHead);
    connection.SendChunk("one");
    first_was_read.get_future().wait();
    connection.SendChunk("two");
    connection.SendChunk("");
  });
  Run([&] {
    auto call = client_.Start(Post(server.url()), {});
    ASSERT_TRUE(call.ok());
    EXPECT_EQ(*(*call)->Read(), "one");
    first_was_read.set_value();
    EXPECT_EQ(*(*call)->Read(), "two");
    EXPECT_EQ(*(*call)->Read(), "");
  });
}

TEST_P(HttpClientWaysTest, AHeaderThatWouldEndItsLineIsNeverSent) {
  // Nothing listens on port 1: a request that was really sent would fail differently.
  for (const std::string& value : {std::string("a\r\nEvil: 1"), std::string("a\nb"),
                                   std::string("a\rb"), std::string("a\0b", 3)}) {
    HttpRequest request = Post("http://127.0.0.1:1/");
    request.headers.emplace_back("X-Thing", value);
    EXPECT_EQ(Fetch(request).status().code(), StatusCode::kInvalidArgument);
  }
  for (const char* name : {"", "X:", "X Y", "X\r\nEvil"}) {
    HttpRequest request = Post("http://127.0.0.1:1/");
    request.headers.emplace_back(name, "1");
    EXPECT_EQ(Fetch(request).status().code(), StatusCode::kInvalidArgument) << name;
  }
}

TEST_P(HttpClientWaysTest, BuffersLittleWhileNobodyReads) {
  constexpr size_t kTotal = 16 * 1024 * 1024;
  constexpr size_t kSlack = 32 * 1024;  // libcurl's own receive buffer
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kTotal) + "\r\n\r\n");
    const std::string piece(64 * 1024, 'x');
    for (size_t sent = 0; sent < kTotal; sent += piece.size()) {
      if (!connection.Send(piece)) return;
    }
  });
  HttpRequest request = Post(server.url());
  request.reply_bytes_max = kTotal;
  Run([&] {
    auto call = client_.Start(request, {});
    ASSERT_TRUE(call.ok());
    size_t received = 0;
    for (int reads = 0;; ++reads) {
      // Gives the event loop time to read more than it should.
      if (reads < 20) {
        ASSERT_TRUE(runtime::SleepFor(milliseconds(2), nullptr).ok());
      }
      const Result<std::string> piece = (*call)->Read();
      ASSERT_TRUE(piece.ok()) << piece.status().ToString();
      if (piece->empty()) break;
      ASSERT_LE(piece->size(), kReadAheadBytes + kSlack);
      received += piece->size();
    }
    EXPECT_EQ(received, kTotal);
  });
}

TEST_P(HttpClientWaysTest, SendsABodyPieceByPiece) {
  constexpr size_t kPieces = 50;
  constexpr size_t kPieceBytes = 30'000;
  std::promise<std::string> received;
  ScriptedServer server([&](Connection& connection) {
    received.set_value(connection.ReadRequest().value_or(""));
    connection.Send(kOk);
  });
  Run([&] {
    HttpRequest request;
    request.method = "PUT";
    request.url = server.url();
    request.upload_bytes = kPieces * kPieceBytes;
    auto call = client_.Start(request, {});
    ASSERT_TRUE(call.ok());
    for (size_t i = 0; i < kPieces; ++i) {
      ASSERT_TRUE((*call)->Write(std::string(kPieceBytes, static_cast<char>('A' + i % 26))).ok());
    }
    ASSERT_TRUE((*call)->ReadHead().ok());
    EXPECT_EQ(*(*call)->ReadRest(100), "hello");
  });
  const std::string request = received.get_future().get();
  EXPECT_TRUE(request.starts_with("PUT / HTTP/1.1\r\n")) << request.substr(0, 200);
  EXPECT_NE(request.find("Content-Length: 1500000\r\n"), std::string::npos);
  const std::string body = request.substr(request.find("\r\n\r\n") + 4);
  ASSERT_EQ(body.size(), kPieces * kPieceBytes);
  for (size_t i = 0; i < kPieces; ++i) {
    EXPECT_EQ(body.find_first_not_of(static_cast<char>('A' + i % 26), i * kPieceBytes),
              i + 1 < kPieces ? (i + 1) * kPieceBytes : std::string::npos);
  }
}

TEST_P(HttpClientWaysTest, AnAnswerAheadOfTheBodyEndsTheUpload) {
  constexpr char kNo[] = "HTTP/1.1 403 No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno";
  ScriptedServer server([&](Connection& connection) {
    connection.Send(kNo);
    connection.WaitUntilPeerCloses();
  });
  Run([&] {
    HttpRequest request;
    request.method = "PUT";
    request.url = server.url();
    request.upload_bytes = uint64_t{1} << 40;
    auto call = client_.Start(request, {});
    ASSERT_TRUE(call.ok());
    // Far more than all buffers between client and server hold.
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE((*call)->Write(std::string(64 * 1024, 'x')).ok());
    }
    auto head = (*call)->ReadHead();
    ASSERT_TRUE(head.ok()) << head.status().ToString();
    EXPECT_EQ(head->status, 403);
  });
}

TEST_P(HttpClientWaysTest, AServerThatTakesNothingEndsTheUpload) {
  std::promise<void> over;
  ScriptedServer server([&](Connection&) { over.get_future().wait(); });
  Run([&] {
    HttpRequest request;
    request.method = "PUT";
    request.url = server.url();
    request.upload_bytes = uint64_t{1} << 40;
    request.idle_timeout = milliseconds(100);
    auto call = client_.Start(request, {});
    ASSERT_TRUE(call.ok());
    Status status;
    for (int i = 0; i < 10'000 && status.ok(); ++i) {
      status = (*call)->Write(std::string(64 * 1024, 'x'));
    }
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_NE(status.message().find("took nothing for 100 ms"), std::string::npos);
  });
  over.set_value();
}

TEST_P(HttpClientWaysTest, GoesThroughTheProxyOfItsEnvironment) {
  std::promise<std::string> received;
  ScriptedServer proxy([&](Connection& connection) {
    received.set_value(connection.ReadRequest().value_or(""));
    connection.Send(kOk);
  });
  client_ = ClientOf({{"http_proxy", proxy.url()}});
  EXPECT_EQ(*Fetch(Post("http://model.invalid/v1")), "hello");
  EXPECT_TRUE(received.get_future().get().starts_with("POST http://model.invalid/v1 HTTP/1.1\r\n"));
}

TEST_P(HttpClientWaysTest, LeavesTheProxyOutWhereTheEnvironmentSaysSo) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kOk);
  });
  client_ = ClientOf({{"http_proxy", "http://127.0.0.1:" + std::to_string(testing::ClosedPort())},
                      {"no_proxy", "127.0.0.1"}});
  EXPECT_EQ(*Fetch(Post(server.url())), "hello");
}

TEST_P(HttpClientWaysTest, OutsideAnEngineThread) {
  EXPECT_EQ(client_.Start(Post("http://127.0.0.1:1/"), {}).status().code(), StatusCode::kInternal);
}

// For the tests of the suite in all files.
INSTANTIATE_TEST_SUITE_P(Ways, HttpClientWaysTest,
                         ::testing::Values(Way::kPlain, Way::kTls, Way::kLibcurl),
                         [](const auto& way) {
                           if (way.param == Way::kTls) return "Tls";
                           return way.param == Way::kLibcurl ? "Libcurl" : "Plain";
                         });

}  // namespace
}  // namespace agent_graph::net

// Calls over HTTP/1.1 without libcurl: what only they do.
#include "net/http1_call.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>

#include "http_client_fixture.h"
#include "scripted_server.h"

namespace agent_graph::net {
namespace {

using testing::Connection;
using testing::ScriptedServer;

constexpr size_t kMoreThanSocketsBuffer = 32 * 1024 * 1024;

bool Serves(const std::string& url) {
  HttpRequest request;
  request.url = url;
  return Http1Call::Serves(request).has_value();
}

TEST(Http1CallTest, ServesWhatLibcurlWouldNotChange) {
  for (const char* url : {"http://127.0.0.1:8080/v1", "http://[::1]:80/",
                          "http://ollama/api?a=b%20c", "http://model-1.example.com"}) {
    EXPECT_TRUE(Serves(url)) << url;
  }
  for (const char* url :
       {"https://127.0.0.1/", "http://user:secret@host/", "http://host/a/../b", "http://host/./a",
        "http://host/a b", "http://h\xc3\xb6st/", "http://[fe80::1%25eth0]/", "http://host:0/"}) {
    EXPECT_FALSE(Serves(url)) << url;
  }
  HttpRequest upload;
  upload.url = "http://127.0.0.1/";
  upload.upload_bytes = 1;
  EXPECT_FALSE(Http1Call::Serves(upload).has_value());
  HttpRequest of_model;
  of_model.url = "https://127.0.0.1/";
  of_model.lasts_long = true;
  EXPECT_TRUE(Http1Call::Serves(of_model).has_value());
  of_model.url = "https://model.example./";
  EXPECT_FALSE(Http1Call::Serves(of_model).has_value());
}

class Http1CallsTest : public HttpClientTest {};

// With and without TLS.
class Http1WaysTest : public HttpClientWaysTest {};

INSTANTIATE_TEST_SUITE_P(Ways, Http1WaysTest, ::testing::Values(Way::kPlain, Way::kTls),
                         [](const auto& way) { return way.param == Way::kTls ? "Tls" : "Plain"; });

TEST_F(Http1CallsTest, ANameIsLookedUp) {
  std::promise<std::string> received;
  ScriptedServer server([&](Connection& connection) {
    received.set_value(connection.ReadRequest().value_or(""));
    connection.Send(kOk);
  });
  std::string url = server.url();
  url.replace(url.find("127.0.0.1"), 9, "localhost");  // the server does not listen on ::1
  const Result<std::string> body = Fetch(Post(url));
  ASSERT_TRUE(body.ok()) << body.status().ToString();
  EXPECT_EQ(*body, "hello");
  EXPECT_NE(received.get_future().get().find("Host: localhost:"), std::string::npos);
}

TEST_F(Http1CallsTest, ANameThatDoesNotExist) {
  const Status status = Fetch(Post("http://no-such-host.invalid/")).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "the server's name could not be resolved");
  EXPECT_NE(status.detail(), "");
}

TEST_P(Http1WaysTest, HeadersOfTheCallerReplaceTheUsualOnes) {
  std::promise<std::string> received;
  ScriptedServer server([&](Connection& connection) {
    received.set_value(connection.ReadRequest().value_or(""));
    connection.Send(kOk);
  });
  HttpRequest request = Post(server.url());
  request.headers = {{"host", "tools.example"},
                     {"Accept", "text/csv"},
                     {"Content-Length", "3"},
                     {"Transfer-Encoding", "chunked"}};
  EXPECT_EQ(*Fetch(request), "hello");
  EXPECT_EQ(
      received.get_future().get(),
      "POST / HTTP/1.1\r\nhost: tools.example\r\nAccept: text/csv\r\nContent-Length: 8\r\n\r\n"
      "question");
}

TEST_P(Http1WaysTest, SendsALargeBodyWhole) {
  std::promise<std::string> received;
  ScriptedServer server([&](Connection& connection) {
    received.set_value(connection.ReadRequest().value_or(""));
    connection.Send(kOk);
  });
  HttpRequest request = Post(server.url());
  request.body.clear();
  while (request.body.size() < kMoreThanSocketsBuffer) {
    request.body += std::to_string(request.body.size()) + ' ';
  }
  const std::string body = request.body;
  EXPECT_EQ(*Fetch(std::move(request)), "hello");
  const std::string text = received.get_future().get();
  EXPECT_EQ(text.substr(text.find("\r\n\r\n") + 4), body);
}

TEST_P(Http1WaysTest, AServerMayRefuseBeforeItHasReadTheBody) {
  ScriptedServer server([&](Connection& connection) {
    connection.Send("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig");
    connection.WaitUntilPeerCloses();
  });
  HttpRequest request = Post(server.url());
  request.body.assign(kMoreThanSocketsBuffer, 'x');
  Run([&] {
    const auto call = *client_.Start(std::move(request), {});
    const Result<HttpHead> head = call->ReadHead();
    ASSERT_TRUE(head.ok()) << head.status().ToString();
    EXPECT_EQ(head->status, 413);
    EXPECT_EQ(*call->ReadRest(100), "big");
  });
}

// A server that streams its reply while it reads the request gets the whole request.
TEST_P(Http1WaysTest, AReplyMayBeginBeforeTheBodyWasRead) {
  std::promise<size_t> received;
  ScriptedServer server([&](Connection& connection) {
    connection.Send(kChunkedHead);
    received.set_value(connection.ReadRequest().value_or("").size());
    connection.SendChunk("done");
    connection.SendChunk("");
  });
  HttpRequest request = Post(server.url());
  request.body.assign(kMoreThanSocketsBuffer, 'x');
  EXPECT_EQ(*Fetch(std::move(request)), "done");
  EXPECT_GT(received.get_future().get(), kMoreThanSocketsBuffer);
}

TEST_F(Http1CallsTest, AWholeReplyMayArriveTogetherWithTheConnection) {
  std::promise<void> sent;
  ScriptedServer server([&](Connection& connection) {
    connection.Send(kOk);
    sent.set_value();
    connection.ReadRequest();
  });
  Run([&] {
    const auto call = *client_.Start(Post(server.url()), {});
    sent.get_future().wait();  // blocks the event loop, too
    const Result<HttpHead> head = call->ReadHead();
    ASSERT_TRUE(head.ok()) << head.status().ToString();
    EXPECT_EQ(*call->ReadRest(100), "hello");
  });
}

TEST_P(Http1WaysTest, AConnectionThatGotUnexpectedBytesIsNotUsedAgain) {
  ScriptedServer server([&](Connection& connection) {
    while (connection.ReadRequest())
      connection.Send(std::string(kOk) + "HTTP/1.1 500 Late\r\n\r\n");
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*Fetch(Post(server.url())), "hello");
  EXPECT_EQ(server.connections(), 3);
}

// A chunk line is not a part of the body, so the limit of the body does not apply.
TEST_P(Http1WaysTest, AnEndlessChunkLineIsRefused) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kChunkedHead);
    connection.Send("1;name=" + std::string(8 * kHeadBytesMax, 'x'));
  });
  const Status status = Fetch(Post(server.url())).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.ToString();
}

// Each read gets a little of the body, so that neither a full buffer nor an empty socket ends the
// reading.
TEST_P(Http1WaysTest, AFastServerLeavesTimeForOthers) {
  const std::string line = "1;name=" + std::string(kHeadBytesMax / 2, 'x') + "\r\na\r\n";
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kChunkedHead);
    while (connection.Send(line)) continue;
  });
  Run([&] {
    const Cancellation cancellation;
    const auto call = *client_.Start(Post(server.url()), cancellation);
    ASSERT_TRUE(call->ReadHead().ok());
    const runtime::Promise<StatusCode> ended;
    runtime_.Spawn(
        [&] {
          Result<std::string> piece = std::string("a");
          while (piece.ok()) piece = call->Read();
          ended.Set(piece.status().code());
        },
        /*here=*/true);
    ASSERT_TRUE(runtime::SleepFor(std::chrono::milliseconds(1), nullptr).ok());
    cancellation.Cancel(runtime::CancelReason::kStopped);
    EXPECT_EQ(*ended.Wait(nullptr, kNoDeadline), StatusCode::kCancelled);
  });
}

// Otherwise the socket would stay until the thread makes another call.
TEST_P(Http1WaysTest, AKeptConnectionThatTheServerClosesIsClosed) {
  std::promise<void> closed;
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.SendAndEnd(kOk);
    connection.WaitUntilPeerCloses();
    closed.set_value();
  });
  EXPECT_EQ(*Fetch(Post(server.url())), "hello");
  closed.get_future().wait();
}

TEST_P(Http1WaysTest, AHeadRequestHasNoBody) {
  ScriptedServer server([&](Connection& connection) {
    while (connection.ReadRequest())
      connection.Send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  });
  for (int i = 0; i < 2; ++i) {
    HttpRequest request;
    request.method = "HEAD";
    request.url = server.url();
    EXPECT_EQ(*Fetch(request), "");
  }
  EXPECT_EQ(server.connections(), 1);
}

}  // namespace
}  // namespace agent_graph::net

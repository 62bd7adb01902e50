// Calls of the HTTP client that fail: cancelled, timed out, refused, too large, not HTTP.
#include <gtest/gtest.h>

#include <future>
#include <string>

#include "http_client_fixture.h"
#include "net/http_client.h"
#include "runtime/signal.h"
#include "scripted_server.h"

namespace agent_graph::net {
namespace {

using runtime::CancelReason;
using std::chrono::milliseconds;
using testing::Connection;
using testing::ScriptedServer;

TEST_P(HttpClientWaysTest, CancellationEndsAWaitingRead) {
  std::promise<void> closed;
  const Cancellation cancellation;
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kChunkedHead);
    cancellation.Cancel(CancelReason::kClientGone);
    connection.WaitUntilPeerCloses();
    closed.set_value();
  });
  EXPECT_EQ(Fetch(Post(server.url()), cancellation).status().code(), StatusCode::kCancelled);
  closed.get_future().wait();
}

TEST_P(HttpClientWaysTest, CancelledBeforeItStarts) {
  const Cancellation cancellation;
  cancellation.Cancel(CancelReason::kShutdown);
  EXPECT_EQ(Fetch(Post("http://127.0.0.1:1/"), cancellation).status().code(),
            StatusCode::kCancelled);
}

TEST_P(HttpClientWaysTest, SilentServerRunsIntoTheFirstByteTimeout) {
  ScriptedServer server([&](Connection& connection) { connection.WaitUntilPeerCloses(); });
  HttpRequest request = Post(server.url());
  request.first_byte_timeout = milliseconds(20);
  const Status status = Fetch(request).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "the server did not answer within 20 ms");
}

TEST_P(HttpClientWaysTest, StalledServerRunsIntoTheIdleTimeout) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kChunkedHead);
    connection.SendChunk("one");
    connection.WaitUntilPeerCloses();
  });
  HttpRequest request = Post(server.url());
  request.idle_timeout = milliseconds(20);
  const Status status = Fetch(request).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "the server sent nothing for 20 ms");
}

TEST_P(HttpClientWaysTest, SlowDripRunsIntoTheDeadline) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kChunkedHead);
    while (connection.SendChunk("x")) {
      poll(nullptr, 0, 1);
    }
  });
  HttpRequest request = Post(server.url());
  request.deadline = DeadlineAfter(milliseconds(50));
  EXPECT_EQ(Fetch(request).status().code(), StatusCode::kDeadlineExceeded);
}

TEST_P(HttpClientWaysTest, RefusedConnection) {
  const Status status =
      Fetch(Post("http://127.0.0.1:" + std::to_string(testing::ClosedPort()) + "/")).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "the server could not be connected");
  EXPECT_NE(status.detail(), "");
}

TEST_P(HttpClientWaysTest, UnusableAddress) {
  EXPECT_EQ(Fetch(Post("ftp://127.0.0.1/")).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Fetch(Post("http://")).status().code(), StatusCode::kInvalidArgument);
}

TEST_P(HttpClientWaysTest, ConnectionClosedBeforeTheHead) {
  ScriptedServer server([&](Connection& connection) { connection.ReadRequest(); });
  EXPECT_EQ(Fetch(Post(server.url())).status().code(), StatusCode::kUnavailable);
}

TEST_P(HttpClientWaysTest, ReplyThatIsNotHttp) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send("SSH-2.0-OpenSSH_9.2p1\r\n\r\n");
  });
  EXPECT_EQ(Fetch(Post(server.url())).status().code(), StatusCode::kUnavailable);
}

TEST_P(HttpClientWaysTest, CutBody) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello");
  });
  const Status status = Fetch(Post(server.url())).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "the server closed the connection too early");
}

TEST_P(HttpClientWaysTest, ReplyIsBounded) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kChunkedHead);
    while (connection.SendChunk(std::string(10'000, 'x'))) {
    }
  });
  HttpRequest request = Post(server.url());
  request.reply_bytes_max = 300'000;
  EXPECT_EQ(Fetch(request).status().code(), StatusCode::kResourceExhausted);
}

TEST_P(HttpClientWaysTest, NothingIsReadOfASmallReplyThatIsTooLarge) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kOk);
  });
  HttpRequest request = Post(server.url());
  request.reply_bytes_max = 4;
  Run([&] {
    const auto call = *client_.Start(std::move(request), {});
    ASSERT_TRUE(call->ReadHead().ok());
    EXPECT_EQ(call->Read().status().code(), StatusCode::kResourceExhausted);
  });
}

TEST_P(HttpClientWaysTest, HeadIsBounded) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send("HTTP/1.1 200 OK\r\n");
    while (connection.Send("X-Filler: " + std::string(1000, 'x') + "\r\n")) {
    }
  });
  EXPECT_EQ(Fetch(Post(server.url())).status().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace agent_graph::net

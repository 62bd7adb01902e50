#include "net/http_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <vector>

#include "on_fiber.h"
#include "resetting_server.h"
#include "runtime/signal.h"
#include "scripted_server.h"

namespace agent_graph::net {
namespace {

using runtime::Cancellation;
using runtime::CancelReason;
using std::chrono::milliseconds;
using testing::Connection;
using testing::ResettingServer;
using testing::ScriptedServer;

constexpr char kOk[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
constexpr char kChunkedHead[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

HttpRequest Post(const std::string& url) {
  HttpRequest request;
  request.url = url;
  request.headers = {{"Content-Type", "text/plain"}};
  request.body = "question";
  return request;
}

class HttpClientTest : public testing::OnFiber {
 protected:
  // Makes a call and reads its whole body; returns the body or the error.
  Result<std::string> Fetch(HttpRequest request, const Cancellation& cancellation = {}) {
    return Run([&]() -> Result<std::string> {
      AG_ASSIGN_OR_RETURN(const auto call, client_.Start(std::move(request), cancellation));
      AG_RETURN_IF_ERROR(call->ReadHead().status());
      std::string body;
      for (;;) {
        AG_ASSIGN_OR_RETURN(const std::string piece, call->Read());
        if (piece.empty()) return body;
        body += piece;
      }
    });
  }

  // Makes `count` calls at once on this fiber's thread, so that it keeps as many connections.
  void KeepConnections(const std::string& url, int count) {
    std::vector<std::unique_ptr<HttpCall>> calls;
    for (int i = 0; i < count; ++i) calls.push_back(*client_.Start(Post(url), {}));
    for (const auto& call : calls) EXPECT_EQ(*call->ReadRest(100), "hello");
  }

  // Starts an upload of `size` bytes; returns when its reply begins.
  Result<std::unique_ptr<HttpCall>> Upload(HttpRequest request, size_t size) {
    request.body.clear();
    request.upload_bytes = size;
    AG_ASSIGN_OR_RETURN(auto call, client_.Start(std::move(request), {}));
    AG_RETURN_IF_ERROR(call->Write(std::string(size, 'x')));
    AG_RETURN_IF_ERROR(call->ReadHead().status());
    return call;
  }

  struct Lost {
    Status status;
    int sends = 0;
    int requests = 0;
  };
  // Makes one call when the server will reset `kept` kept connections.
  Lost CallOnDeadConnections(int kept, bool new_ones_work,
                             const std::function<void(HttpRequest&)>& change = {}) {
    const ResettingServer server(kept, new_ones_work, [](const std::string&) { return kOk; });
    Lost lost;
    Run([&] {
      KeepConnections(server.url(), kept);
      HttpRequest request = Post(server.url());
      if (change) change(request);
      const auto call = *client_.Start(std::move(request), {});
      lost.status = call->ReadHead().status();
      lost.sends = call->sends();
    });
    lost.requests = server.later_requests();
    return lost;
  }

  HttpClient client_{{}};
};

TEST_F(HttpClientTest, SendsTheRequestAndReadsTheReply) {
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
    EXPECT_EQ((*head)->status, 418);
    EXPECT_EQ((*head)->Header("x-thing"), "a b");
    EXPECT_EQ((*head)->Header("absent"), "");
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

TEST_F(HttpClientTest, SkipsInterimReplies) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + std::string(kOk));
  });
  const Result<std::string> body = Fetch(Post(server.url()));
  ASSERT_TRUE(body.ok()) << body.status().ToString();
  EXPECT_EQ(*body, "hello");
}

TEST_F(HttpClientTest, HandsOverEachPieceAsItArrives) {
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

TEST_F(HttpClientTest, ReusesAConnection) {
  ScriptedServer server([&](Connection& connection) {
    while (connection.ReadRequest()) connection.Send(kOk);
  });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(*Fetch(Post(server.url())), "hello");
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(HttpClientTest, ALostKeptConnectionCostsOneMoreSendOnANewOne) {
  for (const int kept : {1, 5, 20, 50}) {
    const Lost lost = CallOnDeadConnections(kept, true);
    EXPECT_TRUE(lost.status.ok()) << kept << " kept: " << lost.status.ToString();
    EXPECT_EQ(lost.requests, 2) << kept << " kept";
    EXPECT_EQ(lost.sends, 2) << kept << " kept";
  }
}

TEST_F(HttpClientTest, NothingIsSentAThirdTime) {
  for (const int kept : {1, 5, 20, 50}) {
    const Lost lost = CallOnDeadConnections(kept, false);
    EXPECT_EQ(lost.status.code(), StatusCode::kUnavailable) << kept << " kept";
    EXPECT_EQ(lost.status.message(), "the server closed the connection too early");
    EXPECT_EQ(lost.requests, 2) << kept << " kept";
    EXPECT_EQ(lost.sends, 2) << kept << " kept";
  }
}

TEST_F(HttpClientTest, AnUploadIsNotSentAgainAndTheNextOneWorks) {
  constexpr size_t kSize = 100'000;
  const ResettingServer server(1, true, [](const std::string&) { return kOk; });
  Run([&] {
    KeepConnections(server.url(), 1);
    const Status lost = Upload(Post(server.url()), kSize).status();
    EXPECT_EQ(lost.code(), StatusCode::kUnavailable);
    EXPECT_EQ(lost.message(), "the server closed the connection too early");
    EXPECT_EQ(server.later_requests(), 1);
    const auto next = Upload(Post(server.url()), kSize);
    EXPECT_TRUE(next.ok()) << next.status().ToString();
    EXPECT_EQ(server.later_requests(), 2);
  });
}

TEST_F(HttpClientTest, WhatIsToBeSentOnceLeavesDeadConnectionsAlone) {
  const Lost lost =
      CallOnDeadConnections(5, true, [](HttpRequest& request) { request.once = true; });
  EXPECT_TRUE(lost.status.ok()) << lost.status.ToString();
  EXPECT_EQ(lost.requests, 1);
  EXPECT_EQ(lost.sends, 1);
}

TEST_F(HttpClientTest, ANewConnectionThatIsLostIsNotReplaced) {
  const Lost lost = CallOnDeadConnections(0, false);
  EXPECT_EQ(lost.status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(lost.requests, 1);
  EXPECT_EQ(lost.sends, 1);
}

// libcurl by itself would send it again on a kept connection.
TEST_F(HttpClientTest, WhatIsToBeSentOnceIsNotRepeated) {
  std::atomic<int> requests{0};
  ScriptedServer server([&](Connection& connection) {
    if (!connection.ReadRequest()) return;
    ++requests;
    connection.Send(kOk);
    if (connection.ReadRequest()) ++requests;  // executed but not answered
  });
  HttpRequest once = Post(server.url());
  once.once = true;
  EXPECT_EQ(*Fetch(Post(server.url())), "hello");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*Fetch(once), "hello");
  EXPECT_EQ(requests, 4);

  ScriptedServer failing([&](Connection& connection) {
    if (connection.ReadRequest()) ++requests;
  });
  once.url = failing.url();
  EXPECT_EQ(Fetch(once).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(requests, 5);
}

TEST_F(HttpClientTest, DrainedCallLeavesItsConnectionReusable) {
  ScriptedServer server([&](Connection& connection) {
    while (connection.ReadRequest()) connection.Send(kOk);
  });
  Run([&] {
    auto call = client_.Start(Post(server.url()), {});
    ASSERT_TRUE((*call)->ReadHead().ok());
    (*call)->Drain(milliseconds(10'000));
  });
  EXPECT_EQ(*Fetch(Post(server.url())), "hello");
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(HttpClientTest, DestroyedCallClosesItsConnection) {
  std::promise<void> closed;
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kChunkedHead);
    connection.SendChunk("one");
    connection.WaitUntilPeerCloses();
    closed.set_value();
  });
  Run([&] {
    auto call = client_.Start(Post(server.url()), {});
    EXPECT_EQ(*(*call)->Read(), "one");
  });
  closed.get_future().wait();
}

TEST_F(HttpClientTest, CancellationEndsAWaitingRead) {
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

TEST_F(HttpClientTest, CancelledBeforeItStarts) {
  const Cancellation cancellation;
  cancellation.Cancel(CancelReason::kShutdown);
  EXPECT_EQ(Fetch(Post("http://127.0.0.1:1/"), cancellation).status().code(),
            StatusCode::kCancelled);
}

TEST_F(HttpClientTest, SilentServerRunsIntoTheFirstByteTimeout) {
  ScriptedServer server([&](Connection& connection) { connection.WaitUntilPeerCloses(); });
  HttpRequest request = Post(server.url());
  request.first_byte_timeout = milliseconds(20);
  const Status status = Fetch(request).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "the server did not answer within 20 ms");
}

TEST_F(HttpClientTest, StalledServerRunsIntoTheIdleTimeout) {
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

TEST_F(HttpClientTest, SlowDripRunsIntoTheDeadline) {
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

TEST_F(HttpClientTest, RefusedConnection) {
  const Status status =
      Fetch(Post("http://127.0.0.1:" + std::to_string(testing::ClosedPort()) + "/")).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "the server could not be connected");
  EXPECT_NE(status.detail(), "");
}

TEST_F(HttpClientTest, UnusableAddress) {
  EXPECT_EQ(Fetch(Post("ftp://127.0.0.1/")).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Fetch(Post("http://")).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(HttpClientTest, AHeaderThatWouldEndItsLineIsNeverSent) {
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

TEST_F(HttpClientTest, ConnectionClosedBeforeTheHead) {
  ScriptedServer server([&](Connection& connection) { connection.ReadRequest(); });
  EXPECT_EQ(Fetch(Post(server.url())).status().code(), StatusCode::kUnavailable);
}

TEST_F(HttpClientTest, ReplyThatIsNotHttp) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send("SSH-2.0-OpenSSH_9.2p1\r\n\r\n");
  });
  EXPECT_EQ(Fetch(Post(server.url())).status().code(), StatusCode::kUnavailable);
}

TEST_F(HttpClientTest, CutBody) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello");
  });
  const Status status = Fetch(Post(server.url())).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "the server closed the connection too early");
}

TEST_F(HttpClientTest, ReplyIsBounded) {
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

TEST_F(HttpClientTest, HeadIsBounded) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send("HTTP/1.1 200 OK\r\n");
    while (connection.Send("X-Filler: " + std::string(1000, 'x') + "\r\n")) {
    }
  });
  EXPECT_EQ(Fetch(Post(server.url())).status().code(), StatusCode::kResourceExhausted);
}

TEST_F(HttpClientTest, BuffersLittleWhileNobodyReads) {
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

TEST_F(HttpClientTest, SendsABodyPieceByPiece) {
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

TEST_F(HttpClientTest, AnAnswerAheadOfTheBodyEndsTheUpload) {
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
    EXPECT_EQ((*head)->status, 403);
  });
}

TEST_F(HttpClientTest, AServerThatTakesNothingEndsTheUpload) {
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

TEST_F(HttpClientTest, GoesThroughTheProxyOfItsEnvironment) {
  std::promise<std::string> received;
  ScriptedServer proxy([&](Connection& connection) {
    received.set_value(connection.ReadRequest().value_or(""));
    connection.Send(kOk);
  });
  client_ = HttpClient({{"http_proxy", proxy.url()}});
  EXPECT_EQ(*Fetch(Post("http://model.invalid/v1")), "hello");
  EXPECT_TRUE(received.get_future().get().starts_with("POST http://model.invalid/v1 HTTP/1.1\r\n"));
}

TEST_F(HttpClientTest, LeavesTheProxyOutWhereTheEnvironmentSaysSo) {
  ScriptedServer server([&](Connection& connection) {
    connection.ReadRequest();
    connection.Send(kOk);
  });
  client_ = HttpClient({{"http_proxy", "http://127.0.0.1:" + std::to_string(testing::ClosedPort())},
                        {"no_proxy", "127.0.0.1"}});
  EXPECT_EQ(*Fetch(Post(server.url())), "hello");
}

TEST_F(HttpClientTest, ManyCallsAtOnce) {
  constexpr int kCalls = 50;
  ScriptedServer server([&](Connection& connection) {
    while (connection.ReadRequest()) connection.Send(kOk);
  });
  std::vector<std::promise<Result<std::string>>> results(kCalls);
  for (auto& result : results) {
    runtime_.Spawn([&] {
      auto call = client_.Start(Post(server.url()), {});
      result.set_value((*call)->ReadRest(100));
    });
  }
  for (auto& result : results) EXPECT_EQ(*result.get_future().get(), "hello");
}

TEST_F(HttpClientTest, OutsideAnEngineThread) {
  EXPECT_EQ(client_.Start(Post("http://127.0.0.1:1/"), {}).status().code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace agent_graph::net

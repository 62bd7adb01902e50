// Calls over HTTP/2: shared connections, lost ones, flow control, cancellation.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "http2_fixture.h"
#include "http2_server.h"
#include "runtime/signal.h"

namespace agent_graph::net {
namespace {

using runtime::Cancellation;
using std::chrono::milliseconds;
using testing::Http2Request;
using testing::Http2Server;
using testing::Http2Session;

void Answer(Http2Session& session, const Http2Request& request) {
  session.Reply(request.stream, "hello");
}

TEST_F(Http2Test, ARequestAndItsReply) {
  Http2Request seen;
  const Http2Server server([&](Http2Session& session, const Http2Request& request) {
    seen = request;
    session.SendInformation(request.stream);
    session.Reply(request.stream, "hello", true, true);
  });
  Run([&] {
    const HttpClient client = ClientOf(server);
    const auto call = *client.Start(Post(server, "/a?b=c"), {});
    const Result<HttpHead> head = call->ReadHead();
    ASSERT_TRUE(head.ok()) << head.status().ToString() << head.status().detail();
    EXPECT_EQ(head->status, 200);
    EXPECT_EQ(head->Header("x-stream"), "yes");
    EXPECT_EQ(head->Header("link"), "");
    EXPECT_EQ(*call->ReadRest(100), "hello");
    EXPECT_TRUE(call->ReadHead()->headers.empty()) << "neither kept nor a trailer";
    EXPECT_EQ(call->sends(), 1);
  });
  EXPECT_EQ(seen.body, "question");
  EXPECT_EQ(seen.headers[":method"], "POST");
  EXPECT_EQ(seen.headers[":path"], "/a?b=c");
  EXPECT_EQ(seen.headers[":authority"], "127.0.0.1:" + std::to_string(server.port()));
  EXPECT_EQ(seen.headers["content-type"], "text/plain");
  EXPECT_EQ(seen.headers["content-length"], "8");
  EXPECT_EQ(seen.headers.count("connection"), 0);
}

TEST_F(Http2Test, CallsShareAConnection) {
  const Http2Server server(Answer);
  Run([&] {
    const HttpClient client = ClientOf(server);
    EXPECT_EQ(FetchAtOnce(client, Post(server), 100), 100);
    EXPECT_EQ(*Fetch(client, Post(server)), "hello");
  });
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(Http2Test, NoConnectionGetsMoreStreamsThanTheServerAllows) {
  const Http2Server server(
      [](Http2Session& session, const Http2Request& request) {
        session.Reply(request.stream, "hello", request.headers.at(":path") != "/open");
      },
      10);
  Run([&] {
    const HttpClient client = ClientOf(server);
    std::vector<std::unique_ptr<HttpCall>> open;
    for (int i = 0; i < 35; ++i) open.push_back(*client.Start(Post(server, "/open"), {}));
    for (const auto& call : open) EXPECT_EQ(*call->Read(), "hello");
    EXPECT_EQ(server.connections(), 4);
  });
}

// The server waits for the reader of a stream, and sends the others.
TEST_F(Http2Test, AReaderThatWaitsStopsOnlyItsOwnStream) {
  constexpr size_t kLarge = 1'000'000;
  const Http2Server server([](Http2Session& session, const Http2Request& request) {
    const bool is_large = request.headers.at(":path") == "/large";
    session.Reply(request.stream, is_large ? std::string(kLarge, 'x') : "hello");
  });
  Run([&] {
    const HttpClient client = ClientOf(server);
    std::vector<std::unique_ptr<HttpCall>> waiting;
    for (int i = 0; i < 20; ++i) {
      waiting.push_back(*client.Start(Post(server, "/large"), {}));
      EXPECT_TRUE(waiting.back()->ReadHead().ok());
    }
    for (int i = 0; i < 50; ++i) EXPECT_EQ(*Fetch(client, Post(server)), "hello");
    const Result<std::string> large = Fetch(client, Post(server, "/large"));
    EXPECT_EQ(large->size(), kLarge);
    for (const auto& call : waiting) {
      const std::string first = *call->Read();
      EXPECT_LE(first.size(), kReadAheadBytes);
      EXPECT_EQ(first.size() + call->ReadRest(kLarge)->size(), kLarge);
    }
  });
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(Http2Test, ACancelledCallResetsOnlyItsStream) {
  const Http2Server server([](Http2Session& session, const Http2Request& request) {
    session.Reply(request.stream, "hello", request.headers.at(":path") != "/open");
  });
  Run([&] {
    const HttpClient client = ClientOf(server);
    const auto stays = *client.Start(Post(server, "/open"), {});
    EXPECT_EQ(*stays->Read(), "hello");
    for (int i = 0; i < 300; ++i) {  // more than the server allows at once
      const Cancellation cancellation;
      const auto call = *client.Start(Post(server, "/open"), cancellation);
      EXPECT_EQ(*call->Read(), "hello");
      cancellation.Cancel(runtime::CancelReason::kStopped);
      EXPECT_EQ(call->Read().status().code(), StatusCode::kCancelled);
    }
    EXPECT_EQ(*Fetch(client, Post(server)), "hello");
  });
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(Http2Test, AServerThatTakesFewRequestsOnAConnection) {
  std::atomic<int> processed = 0;
  const Http2Server server([&](Http2Session& session, const Http2Request& request) {
    if (session.requests() > 20) return;  // as nginx: it ignores what comes after its GOAWAY
    ++processed;
    session.Reply(request.stream, "hello");
    if (session.requests() == 20) session.SendGoaway(request.stream);
  });
  Run([&] {
    const HttpClient client = ClientOf(server);
    int sends_max = 0;
    EXPECT_EQ(FetchAtOnce(client, Post(server), 200, &sends_max), 200);
    EXPECT_LE(sends_max, 2);
    EXPECT_EQ(FetchAtOnce(client, Post(server), 200), 200);
  });
  EXPECT_EQ(processed, 400);
}

TEST_F(Http2Test, ARefusedRequestIsSentOnceMore) {
  std::atomic<int> requests = 0;
  const Http2Server server([&](Http2Session& session, const Http2Request& request) {
    if (++requests == 1) return session.Reset(request.stream, NGHTTP2_REFUSED_STREAM);
    Answer(session, request);
  });
  Run([&] {
    int sends = 0;
    EXPECT_EQ(*Fetch(ClientOf(server), Post(server), &sends), "hello");
    EXPECT_EQ(sends, 2);
  });
}

TEST_F(Http2Test, NothingIsSentAThirdTime) {
  std::atomic<int> requests = 0;
  const Http2Server server([&](Http2Session& session, const Http2Request& request) {
    ++requests;
    session.Reset(request.stream, NGHTTP2_REFUSED_STREAM);
  });
  Run([&] {
    int sends = 0;
    const Status status = Fetch(ClientOf(server), Post(server), &sends).status();
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_EQ(status.message(), "the server closed the connection too early");
    EXPECT_EQ(sends, 2);
  });
  EXPECT_EQ(requests, 2);
}

TEST_F(Http2Test, ALostKeptConnectionCostsOneMoreSend) {
  std::atomic<int> requests = 0;
  const Http2Server server([&](Http2Session& session, const Http2Request& request) {
    if (++requests == 2) return session.Close();
    Answer(session, request);
  });
  Run([&] {
    const HttpClient client = ClientOf(server);
    int sends = 0;
    EXPECT_EQ(*Fetch(client, Post(server)), "hello");
    EXPECT_EQ(*Fetch(client, Post(server), &sends), "hello");
    EXPECT_EQ(sends, 2);
  });
  EXPECT_EQ(server.connections(), 2);
}

TEST_F(Http2Test, ANewConnectionThatIsLostIsNotReplaced) {
  std::atomic<int> requests = 0;
  const Http2Server server([&](Http2Session& session, const Http2Request&) {
    ++requests;
    session.Close();
  });
  Run([&] {
    int sends = 0;
    const Status status = Fetch(ClientOf(server), Post(server), &sends).status();
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_EQ(sends, 1);
  });
  EXPECT_EQ(requests, 1);
}

// A part of a reply must never look like the whole.
TEST_F(Http2Test, AReplyThatEndsEarly) {
  const Http2Server server([](Http2Session& session, const Http2Request& request) {
    if (request.headers.at(":path") == "/other") return session.Reply(request.stream, "hello");
    if (request.headers.at(":path") == "/open") {
      return session.Reply(request.stream, "hello", false);
    }
    session.Reset(request.stream - 2, NGHTTP2_NO_ERROR);
    session.Reset(request.stream, NGHTTP2_INTERNAL_ERROR);
  });
  Run([&] {
    const HttpClient client = ClientOf(server);
    const auto cut = *client.Start(Post(server, "/open"), {});
    EXPECT_EQ(*cut->Read(), "hello");
    int sends = 0;
    const Status status = Fetch(client, Post(server, "/reset"), &sends).status();
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_EQ(sends, 1);
    EXPECT_EQ(cut->Read().status().code(), StatusCode::kUnavailable);
    EXPECT_EQ(*Fetch(client, Post(server, "/other")), "hello");
  });
}

TEST_F(Http2Test, ALargeRequestBody) {
  constexpr size_t kSize = 3'000'000;
  const Http2Server server([](Http2Session& session, const Http2Request& request) {
    session.Reply(request.stream, std::to_string(request.body.size()));
  });
  Run([&] {
    HttpRequest request = Post(server);
    request.body = std::string(kSize, 'x');
    EXPECT_EQ(*Fetch(ClientOf(server), std::move(request)), std::to_string(kSize));
  });
}

TEST_F(Http2Test, ALimitOfTheReplyEndsOnlyItsCall) {
  const Http2Server server([](Http2Session& session, const Http2Request& request) {
    session.Reply(request.stream, std::string(100'000, 'x'));
  });
  Run([&] {
    const HttpClient client = ClientOf(server);
    HttpRequest request = Post(server);
    request.reply_bytes_max = 99'999;
    const Status status = Fetch(client, std::move(request)).status();
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(status.message(), "the server's reply is larger than 99999 bytes");
    EXPECT_EQ(Fetch(client, Post(server))->size(), 100'000);
  });
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(Http2Test, AServerThatDoesNotAnswer) {
  const Http2Server server([](Http2Session&, const Http2Request&) {});
  Run([&] {
    HttpRequest request = Post(server);
    request.first_byte_timeout = milliseconds(300);
    EXPECT_EQ(Fetch(ClientOf(server), std::move(request)).status().message(),
              "the server did not answer within 300 ms");
    request = Post(server);
    request.deadline = DeadlineAfter(milliseconds(300));
    EXPECT_EQ(Fetch(ClientOf(server), std::move(request)).status().code(),
              StatusCode::kDeadlineExceeded);
  });
}

TEST_F(Http2Test, ACertificateThatIsNotTrusted) {
  const Http2Server server(Answer);
  Run([&] {
    const Status status = Fetch(HttpClient({}), Post(server)).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), "the server's certificate was not accepted");
  });
}

}  // namespace
}  // namespace agent_graph::net

// Frames that a server sends at unusual times or in unusual numbers.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http2_fixture.h"
#include "http2_server.h"

namespace agent_graph::net {
namespace {

using testing::Http2Request;
using testing::Http2Server;
using testing::Http2Session;
using testing::Http2TlsServer;

enum Type : uint8_t {
  kData,
  kHeaders,
  kResetStream = 3,
  kSettings,
  kPing = 6,
  kWindowUpdate = 8,
  kContinuation = 9
};
enum Flag : uint8_t { kEndStream = 1, kEndHeaders = 4 };

constexpr std::string_view kStatus200 = "\x88";  // HPACK
constexpr std::string_view kStatus413 = "\x08\x03\x34\x31\x33";

std::string Frame(Type type, std::string_view payload, int flags, int32_t stream) {
  const auto size = static_cast<uint32_t>(payload.size());
  const auto number = static_cast<uint32_t>(stream);
  std::string frame;
  for (const int shift : {16, 8, 0}) frame += static_cast<char>(size >> shift);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(number >> shift);
  return frame + std::string(payload);
}

std::string Reply(int32_t stream, std::string_view body) {
  return Frame(kHeaders, kStatus200, kEndHeaders, stream) + Frame(kData, body, kEndStream, stream);
}

// The server's end of a connection, for bytes that no correct server sends. It never acknowledges
// the client's settings.
class Peer {
 public:
  explicit Peer(SSL* tls) : tls_(tls) {
    Read(24);  // the client's preface
    Send(Frame(kSettings, "", 0, 0));
  }

  bool Send(std::string_view bytes) {
    return SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  // The stream of the next request, without waiting for its body; 0: the client has closed.
  int32_t ReadRequest() {
    while (ReadFrame()) {
      if (type_ == kHeaders) return stream_;
    }
    return 0;
  }
  // Reads until the end of a request; returns the size of its body.
  size_t ReadBody() {
    size_t size = 0;
    while (ReadFrame()) {
      if (type_ == kData) size += size_;
      if (type_ == kData && (flags_ & kEndStream) != 0) break;
    }
    return size;
  }

 private:
  bool ReadFrame() {
    const std::string head = Read(9);
    if (head.empty()) return false;
    const auto byte = [&](size_t at) { return static_cast<uint8_t>(head[at]); };
    size_ = static_cast<size_t>(byte(0)) << 16 | static_cast<size_t>(byte(1)) << 8 | byte(2);
    type_ = byte(3);
    flags_ = byte(4);
    stream_ = byte(7) << 8 | byte(8);
    return size_ == 0 || !Read(size_).empty();
  }
  std::string Read(size_t size) {
    std::string bytes(size, '\0');
    for (size_t at = 0; at < size;) {
      const int count = SSL_read(tls_, bytes.data() + at, static_cast<int>(size - at));
      if (count <= 0) return {};
      at += static_cast<size_t>(count);
    }
    return bytes;
  }

  SSL* const tls_;
  uint8_t type_ = 0;
  uint8_t flags_ = 0;
  int32_t stream_ = 0;
  size_t size_ = 0;
};

// Answers each request with what `reply` returns for its stream.
Http2TlsServer::Script Replying(std::function<std::string(int32_t)> reply) {
  return [reply = std::move(reply)](SSL* tls) {
    Peer peer(tls);
    while (const int32_t stream = peer.ReadRequest()) {
      if (!peer.Send(reply(stream))) return;
    }
  };
}

class Http2FramesTest : public Http2Test {
 protected:
  // The body or the failure of one call.
  Result<std::string> FetchFrom(const Http2TlsServer& server) {
    return Run([&] { return Fetch(ClientOf(server), Post(server)); });
  }
  // Expects that a call fails at once because of what the server sends.
  void ExpectClosed(std::function<std::string(int32_t)> reply) {
    const Http2TlsServer server(Replying(std::move(reply)));
    const Result<std::string> body = FetchFrom(server);
    EXPECT_EQ(body.status().code(), StatusCode::kUnavailable);
    EXPECT_EQ(body.status().message(), "the server closed the connection too early");
  }
};

// RFC 9113, 6.5.3: settings take effect when they are acknowledged; a server may be slow to do it.
TEST_F(Http2FramesTest, AServerThatNeverAcknowledgesSettings) {
  const Http2TlsServer server(Replying([](int32_t stream) { return Reply(stream, "hello"); }));
  Run([&] {
    const HttpClient client = ClientOf(server);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(*Fetch(client, Post(server)), "hello");
  });
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(Http2FramesTest, StreamsThatWereOpenBeforeAGoawayGoOn) {
  constexpr int kOpen = 20;
  const Http2Server server([](Http2Session& session, const Http2Request& request) {
    if (request.headers.at(":path") == "/other") return session.Reply(request.stream, "hello");
    if (session.requests() < kOpen) return session.Reply(request.stream, "hello", false);
    session.SendGoaway(request.stream);
    for (int32_t stream = 1; stream < request.stream; stream += 2) session.EndReply(stream);
    session.Reply(request.stream, "hello");
  });
  Run([&] {
    const HttpClient client = ClientOf(server);
    std::vector<std::unique_ptr<HttpCall>> calls;
    for (int i = 0; i < kOpen; ++i) {
      calls.push_back(*client.Start(Post(server), {}));
      if (i < kOpen - 1) {
        EXPECT_EQ(*calls.back()->Read(), "hello");
      }
    }
    EXPECT_EQ(*calls.back()->ReadRest(100), "hello");
    EXPECT_EQ(*Fetch(client, Post(server, "/other")), "hello");
    for (int i = 0; i < kOpen - 1; ++i) EXPECT_EQ(*calls[static_cast<size_t>(i)]->Read(), "");
    for (const auto& call : calls) EXPECT_EQ(call->sends(), 1);
  });
  EXPECT_EQ(server.connections(), 2);
}

TEST_F(Http2FramesTest, SettingsThatAllowLessThanBefore) {
  constexpr size_t kSize = 300'000;
  const Http2Server server([](Http2Session& session, const Http2Request& request) {
    if (session.requests() == 5) session.SendSettings(2, 100);
    session.Reply(request.stream, std::to_string(request.body.size()));
  });
  Run([&] {
    const HttpClient client = ClientOf(server);
    std::vector<std::unique_ptr<HttpCall>> calls;
    for (int i = 0; i < 30; ++i) {
      HttpRequest request = Post(server);
      if (i % 2 == 1) request.body = std::string(kSize, 'x');
      calls.push_back(*client.Start(std::move(request), {}));
    }
    for (size_t i = 0; i < calls.size(); ++i) {
      EXPECT_EQ(*calls[i]->ReadRest(100), std::to_string(i % 2 == 1 ? kSize : 8)) << i;
    }
  });
}

TEST_F(Http2FramesTest, PaddingCountsForTheWindow) {
  constexpr size_t kSize = 3'000'000;  // more than both windows
  const Http2Server server([](Http2Session& session, const Http2Request& request) {
    session.UsePadding(255);
    session.Reply(request.stream, std::string(kSize, 'x'));
  });
  const Result<std::string> body = FetchFrom(server);
  ASSERT_TRUE(body.ok()) << body.status().ToString();
  EXPECT_EQ(body->size(), kSize);
}

TEST_F(Http2FramesTest, DataBeyondTheWindowEndsOnlyItsCall) {
  const Http2TlsServer server(Replying([requests = 0](int32_t stream) mutable {
    if (++requests > 1) return Reply(stream, "hello");
    std::string reply = Frame(kHeaders, kStatus200, kEndHeaders, stream);
    for (int i = 0; i < 10; ++i) reply += Frame(kData, std::string(16'384, 'x'), 0, stream);
    return reply;
  }));
  Run([&] {
    const HttpClient client = ClientOf(server);
    const auto call = *client.Start(Post(server), {});
    EXPECT_TRUE(call->ReadHead().ok());
    // The call does not read until the server has sent too much.
    EXPECT_EQ(*Fetch(client, Post(server)), "hello");
    EXPECT_LE(call->Read()->size(), kReadAheadBytes);
    EXPECT_EQ(call->Read().status().code(), StatusCode::kUnavailable);
  });
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(Http2FramesTest, AHeadAboveTheBoundEndsOnlyItsCall) {
  // A literal header of 16,000 bytes, five times.
  std::string large("\x00\x01x\x7f\x81\x7c", 6);
  large += std::string(16'000, 'y');
  const Http2TlsServer server(Replying([&, requests = 0](int32_t stream) mutable {
    if (++requests != 2) return Reply(stream, "hello");
    std::string reply = Frame(kHeaders, kStatus200, 0, stream);
    for (int i = 0; i < 5; ++i) {
      reply += Frame(kContinuation, large, i == 4 ? kEndHeaders : 0, stream);
    }
    return reply + Frame(kData, "hello", kEndStream, stream);
  }));
  Run([&] {
    const HttpClient client = ClientOf(server);
    EXPECT_EQ(*Fetch(client, Post(server)), "hello");
    const Status status = Fetch(client, Post(server)).status();
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.ToString();
    EXPECT_EQ(*Fetch(client, Post(server)), "hello");
  });
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(Http2FramesTest, ContinuationsWithoutEnd) {
  ExpectClosed([](int32_t stream) {
    std::string reply = Frame(kHeaders, kStatus200, 0, stream);
    for (int i = 0; i < 10'000; ++i) reply += Frame(kContinuation, "", 0, stream);
    return reply;
  });
}

// The client answers each of them, and a server that does not read the answers is left.
TEST_F(Http2FramesTest, FloodsAreAnsweredOrEndTheConnection) {
  for (const std::string& frame : {Frame(kPing, "12345678", 0, 0), Frame(kSettings, "", 0, 0)}) {
    std::string some;
    for (int i = 0; i < 1000; ++i) some += frame;
    const Http2TlsServer reading(
        Replying([&](int32_t stream) { return some + Reply(stream, "hello"); }));
    EXPECT_EQ(*FetchFrom(reading), "hello");
    const Http2TlsServer flooding([&](SSL* tls) {
      Peer peer(tls);
      peer.ReadRequest();
      while (peer.Send(some)) {
      }
    });
    EXPECT_EQ(FetchFrom(flooding).status().message(), "the server closed the connection too early");
  }
}

TEST_F(Http2FramesTest, AnAnswerBeforeTheEndOfALargeRequest) {
  constexpr size_t kSize = 1'000'000;
  const Http2TlsServer server(Replying([requests = 0](int32_t stream) mutable {
    if (++requests > 1) return Reply(stream, "hello");
    return Frame(kHeaders, kStatus413, kEndHeaders, stream) +
           Frame(kData, "too large", kEndStream, stream) +
           Frame(kResetStream, std::string_view("\0\0\0\0", 4), 0, stream);
  }));
  Run([&] {
    const HttpClient client = ClientOf(server);
    HttpRequest request = Post(server);
    request.body = std::string(kSize, 'x');
    const auto call = *client.Start(std::move(request), {});
    const Result<HttpHead> head = call->ReadHead();
    ASSERT_TRUE(head.ok()) << head.status().ToString();
    EXPECT_EQ(head->status, 413);
    EXPECT_EQ(*call->ReadRest(100), "too large");
    EXPECT_EQ(*Fetch(client, Post(server)), "hello");
  });
  EXPECT_EQ(server.connections(), 1);
}

// A server may send the head, and parts of the body, before it has read the request.
TEST_F(Http2FramesTest, AReplyThatBeginsBeforeTheEndOfTheRequest) {
  constexpr size_t kSize = 1'000'000;
  const Http2TlsServer server([](SSL* tls) {
    Peer peer(tls);
    const int32_t stream = peer.ReadRequest();
    const std::string_view million("\0\x0f\x42\x40", 4);
    peer.Send(Frame(kHeaders, kStatus200, kEndHeaders, stream) +
              Frame(kWindowUpdate, million, 0, 0) + Frame(kWindowUpdate, million, 0, stream));
    const size_t received = peer.ReadBody();
    peer.Send(Frame(kData, std::to_string(received), kEndStream, stream));
    peer.ReadRequest();
  });
  Run([&] {
    HttpRequest request = Post(server);
    request.body = std::string(kSize, 'x');
    const Result<std::string> body = Fetch(ClientOf(server), std::move(request));
    ASSERT_TRUE(body.ok()) << body.status().ToString();
    EXPECT_EQ(*body, std::to_string(kSize));
  });
}

TEST_F(Http2FramesTest, AResetAmidABodyLeavesTheOthers) {
  const Http2TlsServer server([](SSL* tls) {
    Peer peer(tls);
    const int32_t first = peer.ReadRequest();
    peer.Send(Frame(kHeaders, kStatus200, kEndHeaders, first) + Frame(kData, "hel", 0, first));
    const int32_t second = peer.ReadRequest();
    peer.Send(Frame(kResetStream, std::string_view("\0\0\0\2", 4), 0, first) +
              Reply(second, "hello"));
    peer.ReadRequest();
  });
  Run([&] {
    const HttpClient client = ClientOf(server);
    const auto cut = *client.Start(Post(server), {});
    EXPECT_EQ(*cut->Read(), "hel");
    EXPECT_EQ(*Fetch(client, Post(server)), "hello");
    EXPECT_EQ(cut->Read().status().code(), StatusCode::kUnavailable);
    EXPECT_EQ(cut->sends(), 1);
  });
}

}  // namespace
}  // namespace agent_graph::net

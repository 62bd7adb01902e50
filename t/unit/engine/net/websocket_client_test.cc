// The WebSocket client against a server that sends exactly the bytes that the test chooses.
#include "net/websocket_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <deque>

#include "on_fiber.h"
#include "runtime/signal.h"
#include "scripted_server.h"

namespace agent_graph::net {
namespace {

using std::chrono::milliseconds;
using testing::ClosedPort;
using testing::Connection;
using testing::ScriptedServer;

class Recorder : public WebSocketHandler {
 public:
  virtual ~Recorder() = default;

  void OnOpen() override { Note("open"); }
  void OnMessage(std::string text) override { Note("message " + text); }
  void OnSent() override {}
  void OnEnd(const WebSocketEnd& end) override {
    end_ = end;
    Note("end");
  }

  // Returns the next event; "nothing" if none comes in time.
  std::string Next() {
    const Deadline deadline = DeadlineAfter(std::chrono::minutes(2));
    while (notes_.empty()) {
      if (signal_.Wait(nullptr, deadline) == runtime::WakeReason::kDeadline) return "nothing";
    }
    std::string note = notes_.front();
    notes_.pop_front();
    return note;
  }
  const WebSocketEnd& end() const { return end_; }

 private:
  void Note(std::string note) {
    notes_.push_back(std::move(note));
    signal_.Notify();
  }

  std::deque<std::string> notes_;
  WebSocketEnd end_;
  runtime::Signal signal_;
};

std::string AcceptKey(const std::string& request) {
  const std::string name = "Sec-WebSocket-Key: ";
  const size_t at = request.find(name) + name.size();
  const std::string key =
      request.substr(at, request.find("\r\n", at) - at) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  unsigned char digest[20];
  unsigned int length = 0;
  EVP_Digest(key.data(), key.size(), digest, &length, EVP_sha1(), nullptr);
  unsigned char text[32];
  const int size = EVP_EncodeBlock(text, digest, static_cast<int>(length));
  return {reinterpret_cast<char*>(text), static_cast<size_t>(size)};
}

// Reads and accepts the handshake; returns its request.
std::string Accept(Connection& connection) {
  const std::string request = connection.ReadRequest().value_or("");
  if (request.empty()) return request;
  connection.Send(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Accept: " +
      AcceptKey(request) + "\r\n\r\n");
  return request;
}

std::string TextFrame(const std::string& text) {
  return std::string("\x81") + static_cast<char>(text.size()) + text;
}

class WebSocketClientTest : public testing::OnFiber {
 protected:
  WebSocketOptions Options(const ScriptedServer& server) {
    WebSocketOptions options;
    options.url = "ws" + server.url("/path?x=1").substr(4);
    return options;
  }

  const WebSocketConnector connector_{Environment()};
};

TEST_F(WebSocketClientTest, SpeaksBothWays) {
  std::string request;
  ScriptedServer server([&](Connection& connection) {
    request = Accept(connection);
    connection.Send(TextFrame("hello"));
    connection.WaitUntilPeerCloses();
  });
  Run([&] {
    Recorder recorder;
    WebSocketOptions options = Options(server);
    options.headers = {{"Authorization", "Bearer key"}};
    auto client = connector_.Open(options, recorder);
    client->Send("early");
    EXPECT_EQ(client->unsent_bytes(), 5u);
    EXPECT_EQ(recorder.Next(), "open");
    EXPECT_EQ(recorder.Next(), "message hello");
  });
  EXPECT_THAT(request, ::testing::HasSubstr("GET /path?x=1 HTTP/1.1"));
  EXPECT_THAT(request, ::testing::HasSubstr("Authorization: Bearer key"));
}

TEST_F(WebSocketClientTest, TellsHowItWasRefused) {
  ScriptedServer server([](Connection& connection) {
    (void)connection.ReadRequest();
    connection.Send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
  });
  Run([&] {
    Recorder recorder;
    auto client = connector_.Open(Options(server), recorder);
    EXPECT_EQ(recorder.Next(), "end");
    EXPECT_EQ(recorder.end().http_status, 403);
  });
}

TEST_F(WebSocketClientTest, TellsTheCodeOfTheClose) {
  ScriptedServer server([](Connection& connection) {
    Accept(connection);
    connection.Send(
        std::string("\x88\x05\x03\xef"
                    "bad",
                    7));  // 1007
    connection.WaitUntilPeerCloses();
  });
  Run([&] {
    Recorder recorder;
    auto client = connector_.Open(Options(server), recorder);
    EXPECT_EQ(recorder.Next(), "open");
    EXPECT_EQ(recorder.Next(), "end");
    EXPECT_EQ(recorder.end().close_code, 1007);
    EXPECT_EQ(recorder.end().reason, "closed with 1007: bad");
  });
}

TEST_F(WebSocketClientTest, GivesUpAPeerThatDoesNotAnswerPings) {
  ScriptedServer server([](Connection& connection) {
    Accept(connection);
    connection.WaitUntilPeerCloses();  // reads the pings but sends no pongs
  });
  Run([&] {
    Recorder recorder;
    WebSocketOptions options = Options(server);
    options.silence_max = milliseconds(300);
    auto client = connector_.Open(options, recorder);
    EXPECT_EQ(recorder.Next(), "open");
    EXPECT_EQ(recorder.Next(), "end");
    EXPECT_EQ(recorder.end().reason, "the peer is silent");
  });
}

TEST_F(WebSocketClientTest, GivesUpAPeerThatLeavesTooMuchUnread) {
  ScriptedServer server([](Connection& connection) {
    Accept(connection);
    connection.WaitUntilPeerCloses();
  });
  Run([&] {
    Recorder recorder;
    WebSocketOptions options = Options(server);
    options.unsent_bytes_max = 100'000;
    auto client = connector_.Open(options, recorder);
    client->Send(std::string(60'000, 'x'));
    client->Send(std::string(60'000, 'x'));
    EXPECT_EQ(client->unsent_bytes(), 60'000u);
    EXPECT_EQ(recorder.Next(), "end");
    EXPECT_EQ(recorder.end().reason, "the peer does not read");
  });
}

TEST_F(WebSocketClientTest, GivesUpAPeerThatDoesNotAnswerTheHandshake) {
  ScriptedServer server([](Connection& connection) { connection.WaitUntilPeerCloses(); });
  Run([&] {
    Recorder recorder;
    WebSocketOptions options = Options(server);
    options.connect_timeout = milliseconds(300);
    auto client = connector_.Open(options, recorder);
    EXPECT_EQ(recorder.Next(), "end");
    EXPECT_EQ(recorder.end().reason, "the peer did not answer in time");
  });
}

TEST_F(WebSocketClientTest, AddressesThatLeadNowhere) {
  const std::string closed = "ws://127.0.0.1:" + std::to_string(ClosedPort()) + "/";
  Run([&] {
    for (const std::string& url : {closed, std::string("http://x/"), std::string("ws://:80"),
                                   std::string("ws://host.invalid/")}) {
      Recorder recorder;
      auto client = connector_.Open({.url = url, .headers = {}}, recorder);
      EXPECT_EQ(recorder.Next(), "end") << url;
      EXPECT_EQ(recorder.end().http_status, 0);
      EXPECT_NE(recorder.end().reason, "");
    }
  });
}

TEST_F(WebSocketClientTest, LeavesAndHearsOfTheEnd) {
  ScriptedServer server([](Connection& connection) {
    Accept(connection);
    connection.Send(TextFrame("hello"));
    connection.Send(std::string("\x88\x02\x03\xe8", 4));  // 1000
    connection.WaitUntilPeerCloses();
  });
  Run([&] {
    Recorder recorder;
    auto client = connector_.Open(Options(server), recorder);
    EXPECT_EQ(recorder.Next(), "open");
    client->Leave();
    client->Send("too late");
    EXPECT_EQ(client->unsent_bytes(), 0u);
    std::string note = recorder.Next();
    if (note == "message hello") note = recorder.Next();  // may precede Leave
    EXPECT_EQ(note, "end");
  });
}

TEST_F(WebSocketClientTest, GoesThroughTheProxyOfItsEnvironment) {
  std::string asked;
  std::string request;
  ScriptedServer proxy([&](Connection& connection) {
    asked = connection.ReadRequest().value_or("");
    connection.Send("HTTP/1.1 200 Connection established\r\n\r\n");
    request = Accept(connection);
    connection.Send(TextFrame("hello"));
    connection.WaitUntilPeerCloses();
  });
  const std::string address = proxy.url().substr(7);
  const WebSocketConnector connector({{"HTTP_PROXY", "http://me:p%40ss@" + address}});
  Run([&] {
    Recorder recorder;
    auto client = connector.Open({.url = "ws://model.invalid/path", .headers = {}}, recorder);
    EXPECT_EQ(recorder.Next(), "open") << recorder.end().reason;
    EXPECT_EQ(recorder.Next(), "message hello");
  });
  EXPECT_TRUE(asked.starts_with("CONNECT model.invalid:80 HTTP/1.1\r\n")) << asked;
  EXPECT_THAT(asked, ::testing::HasSubstr("Host: model.invalid:80\r\n"));
  EXPECT_THAT(asked, ::testing::HasSubstr("Proxy-Authorization: Basic bWU6cEBzcw==\r\n"));
  EXPECT_TRUE(request.starts_with("GET /path HTTP/1.1\r\n")) << request;
  EXPECT_THAT(request, ::testing::Not(::testing::HasSubstr("Proxy-Authorization")));
}

TEST_F(WebSocketClientTest, LeavesTheProxyOutWhereTheEnvironmentSaysSo) {
  ScriptedServer server([](Connection& connection) {
    Accept(connection);
    connection.WaitUntilPeerCloses();
  });
  const WebSocketConnector connector(
      {{"http_proxy", "http://127.0.0.1:" + std::to_string(ClosedPort())},
       {"no_proxy", "127.0.0.0/8"}});
  Run([&] {
    Recorder recorder;
    auto client = connector.Open(Options(server), recorder);
    EXPECT_EQ(recorder.Next(), "open") << recorder.end().reason;
  });
}

TEST_F(WebSocketClientTest, ProxiesThatDoNotHelp) {
  ScriptedServer refusing([](Connection& connection) {
    (void)connection.ReadRequest();
    connection.Send("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n");
    connection.WaitUntilPeerCloses();
  });
  ScriptedServer silent([](Connection& connection) { connection.WaitUntilPeerCloses(); });
  ScriptedServer babbling([](Connection& connection) {
    connection.Send(std::string(100'000, 'x'));
    connection.WaitUntilPeerCloses();
  });
  const std::pair<std::string, std::string> cases[] = {
      {refusing.url(), "the proxy refused: HTTP 407"},
      {silent.url(), "the peer did not answer in time"},
      {babbling.url(), "the proxy: "},
      {"socks5://127.0.0.1:1080", "the proxy is not an http:// one"},
      {"http://127.0.0.1:" + std::to_string(ClosedPort()), "no connection: "},
  };
  Run([&] {
    for (const auto& [proxy, reason] : cases) {
      const WebSocketConnector connector({{"all_proxy", proxy}});
      Recorder recorder;
      WebSocketOptions options;
      options.url = "wss://model.invalid/";
      if (proxy == silent.url()) options.connect_timeout = milliseconds(500);
      auto client = connector.Open(options, recorder);
      EXPECT_EQ(recorder.Next(), "end");
      EXPECT_TRUE(recorder.end().reason.starts_with(reason)) << recorder.end().reason;
      EXPECT_EQ(recorder.end().http_status, 0);  // it would be the provider's status
    }
  });
}

// Sends many bytes after the first message it receives, and closes its client at the end.
class Talker final : public Recorder {
 public:
  explicit Talker(size_t bytes) : bytes_(bytes) {}

  void OnMessage(std::string text) override {
    client_->Send(std::string(bytes_, 'x'));
    Recorder::OnMessage(std::move(text));
  }
  void OnSent() override { EXPECT_NE(client_, nullptr); }
  void OnEnd(const WebSocketEnd& end) override {
    client_.reset();
    Recorder::OnEnd(end);
  }
  void Own(std::unique_ptr<WebSocketClient> client) { client_ = std::move(client); }

 private:
  const size_t bytes_;
  std::unique_ptr<WebSocketClient> client_;
};

TEST_F(WebSocketClientTest, MayBeLetGoWhileAMessageIsHalfSent) {
  ScriptedServer server([](Connection& connection) {
    Accept(connection);
    connection.Send(TextFrame("hello") + std::string("\x88\x02\x03\xe8", 4));  // 1000
    connection.WaitUntilPeerCloses();
  });
  Run([&] {
    // A message is sent in pieces of 4096 bytes, and the connection may end after any of them.
    for (size_t pieces = 1; pieces <= 8; ++pieces) {
      Talker talker(pieces * 4096);
      talker.Own(connector_.Open(Options(server), talker));
      EXPECT_EQ(talker.Next(), "open");
      EXPECT_EQ(talker.Next(), "message hello");
      EXPECT_EQ(talker.Next(), "end");
    }
  });
}

TEST_F(WebSocketClientTest, MayBeLetGoAtAnyTime) {
  ScriptedServer server([](Connection& connection) {
    Accept(connection);
    connection.Send(TextFrame("hello"));
    connection.WaitUntilPeerCloses();
  });
  Run([&] {
    for (int i = 0; i < 20; ++i) {
      Recorder recorder;
      auto client = connector_.Open(Options(server), recorder);
      if (i % 2 == 0) (void)runtime::SleepFor(milliseconds(i / 4), nullptr);
      client->Send(std::string(100'000, 'x'));
    }
  });
}

}  // namespace
}  // namespace agent_graph::net

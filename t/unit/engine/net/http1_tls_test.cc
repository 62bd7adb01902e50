// Calls over HTTP/1.1 with TLS: what depends on the session.
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <string>
#include <string_view>

#include "http_client_fixture.h"
#include "net/http_client.h"
#include "scripted_server.h"
#include "tls_server.h"

namespace agent_graph::net {
namespace {

using std::chrono::milliseconds;
using testing::Connection;
using testing::ScriptedServer;
using testing::TlsServer;

constexpr size_t kLarge = 3'000'000;

// False if the client has ended the session.
bool ReadRequest(SSL* tls) {
  std::string request;
  char buffer[4096];
  while (!request.ends_with("question")) {
    const int size = SSL_read(tls, buffer, sizeof buffer);
    if (size <= 0) return false;
    request.append(buffer, static_cast<size_t>(size));
  }
  return true;
}

void Send(SSL* tls, std::string_view text) {
  SSL_write(tls, text.data(), static_cast<int>(text.size()));
}

std::string ReplyOf(size_t size) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" +
         std::string(size, 'x');
}

// Answers each request of a connection. Counts the connections with a request: the first call of a
// test opens one more, on which it only asks for HTTP/2.
TlsServer::Script Answering(std::string reply, std::atomic<int>& connections) {
  return [reply = std::move(reply), &connections](SSL* tls) {
    if (!ReadRequest(tls)) return;
    ++connections;
    do {
      Send(tls, reply);
    } while (ReadRequest(tls));
  };
}

class Http1TlsTest : public HttpClientTest {
 protected:
  void SetUp() override {
    HttpClientTest::SetUp();
    client_ = HttpClient({{"CURL_CA_BUNDLE", TlsServer::ca_file()}});
  }

  HttpRequest Question(const std::string& url) {
    HttpRequest request = Post(url);
    request.lasts_long = true;
    return request;
  }
  // A call that does not ask for HTTP/2 first.
  HttpRequest QuestionOverHttp1(std::string url) {
    if (url.starts_with("http:")) url.insert(4, "s");
    HttpRequest request = Question(url);
    request.http2 = false;
    return request;
  }
};

TEST_F(Http1TlsTest, KeepsAConnectionInEachVersionOfTls) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    std::atomic<int> connections = 0;
    const TlsServer server("http/1.1", Answering(kOk, connections), version);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(*Fetch(Question(server.url())), "hello");
    EXPECT_EQ(connections, 1);
  }
}

TEST_F(Http1TlsTest, ReadsWhatArrivesWithTheEndOfTheHandshake) {
  const TlsServer server(
      "http/1.1",
      [](SSL* tls) {
        while (ReadRequest(tls)) continue;
      },
      TLS1_2_VERSION, kOk);
  EXPECT_EQ(*Fetch(QuestionOverHttp1(server.url())), "hello");
}

TEST_F(Http1TlsTest, TheCertificateMustBeForTheHost) {
  TlsServer server("http/1.1", [](SSL* tls) { ReadRequest(tls); });
  std::string url = server.url();
  url.replace(url.find("127.0.0.1"), 9, "localhost");
  for (const HttpRequest& request : {Question(url), QuestionOverHttp1(url)}) {
    const Status status = Fetch(request).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), "the server's certificate was not accepted");
    EXPECT_EQ(status.detail(), "hostname mismatch");
  }
  EXPECT_FALSE(server.names().empty());
  for (const std::string& name : server.names()) EXPECT_EQ(name, "localhost");
}

// RFC 6066, 3: the name of a server is never an address.
TEST_F(Http1TlsTest, DoesNotNameAnAddress) {
  std::atomic<int> connections = 0;
  TlsServer server("http/1.1", Answering(kOk, connections));
  EXPECT_EQ(*Fetch(Question(server.url())), "hello");
  const std::vector<std::string> names = server.names();
  EXPECT_EQ(names.size(), 2u) << "one connection asks for HTTP/2";
  for (const std::string& name : names) EXPECT_EQ(name, "");
}

TEST_F(Http1TlsTest, TheCertificateMustBeTrusted) {
  const TlsServer server("http/1.1", [](SSL* tls) { ReadRequest(tls); });
  client_ = HttpClient({});
  EXPECT_EQ(Fetch(QuestionOverHttp1(server.url())).status().message(),
            "the server's certificate was not accepted");
}

// Anybody on the way can close a connection, but not end a session.
TEST_F(Http1TlsTest, OnlyTheEndOfTheSessionIsTheEndOfAReplyWithoutLength) {
  std::atomic<bool> ends = true;
  const TlsServer server("http/1.1", [&](SSL* tls) {
    if (!ReadRequest(tls)) return;
    Send(tls, "HTTP/1.1 200 OK\r\n\r\nhello");
    if (!ends) SSL_set_quiet_shutdown(tls, 1);
  });
  EXPECT_EQ(*Fetch(Question(server.url())), "hello");
  ends = false;
  const Status status = Fetch(Question(server.url())).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.message(), "the server closed the connection too early");
}

// The end arrives together with the reply, and the server keeps the connection open.
TEST_F(Http1TlsTest, TheEndOfTheSessionIsEnough) {
  const TlsServer server("http/1.1", [&](SSL* tls) {
    if (!ReadRequest(tls)) return;
    int corked = 1;
    setsockopt(SSL_get_fd(tls), IPPROTO_TCP, TCP_CORK, &corked, sizeof corked);
    Send(tls, "HTTP/1.1 200 OK\r\n\r\nhello");
    SSL_shutdown(tls);
    corked = 0;
    setsockopt(SSL_get_fd(tls), IPPROTO_TCP, TCP_CORK, &corked, sizeof corked);
    char byte;
    SSL_read(tls, &byte, 1);
  });
  EXPECT_EQ(*Fetch(QuestionOverHttp1(server.url())), "hello");
}

TEST_F(Http1TlsTest, ACallThatIsGivenUpEndsItsSession) {
  std::promise<int> end;
  const TlsServer server("http/1.1", [&](SSL* tls) {
    if (!ReadRequest(tls)) return;
    Send(tls, kChunkedHead);
    char byte;
    end.set_value(SSL_get_error(tls, SSL_read(tls, &byte, 1)));
  });
  Run([&] {
    const auto call = *client_.Start(QuestionOverHttp1(server.url()), {});
    EXPECT_TRUE(call->ReadHead().ok());
  });
  EXPECT_EQ(end.get_future().get(), SSL_ERROR_ZERO_RETURN);
}

TEST_F(Http1TlsTest, AShortRequestIsOneRecord) {
  std::promise<std::string> first_record;
  const TlsServer server("http/1.1", [&](SSL* tls) {
    char record[4096];
    const int size = SSL_read(tls, record, sizeof record);
    first_record.set_value(std::string(record, static_cast<size_t>(std::max(size, 0))));
    Send(tls, kOk);
  });
  EXPECT_EQ(*Fetch(QuestionOverHttp1(server.url())), "hello");
  const std::string record = first_record.get_future().get();
  EXPECT_TRUE(record.starts_with("POST ") && record.ends_with("question")) << record;
}

TEST_F(Http1TlsTest, RecordsOfAnySize) {
  for (const size_t record : {1, 100, 1024, 16 * 1024}) {
    const std::string reply = ReplyOf(100'000 / (record == 1 ? 50 : 1));
    const TlsServer server("http/1.1", [&](SSL* tls) {
      if (!ReadRequest(tls)) return;
      for (size_t at = 0; at < reply.size(); at += record) {
        Send(tls, std::string_view(reply).substr(at, record));
      }
      ReadRequest(tls);
    });
    const Result<std::string> body = Fetch(Question(server.url()));
    ASSERT_TRUE(body.ok()) << body.status().ToString();
    EXPECT_EQ(body->size(), reply.size() - reply.find("\r\n\r\n") - 4) << record;
  }
}

// The server closes the connection with unread bytes, so that sending the rest fails.
TEST_F(Http1TlsTest, ARefusalIsReadAfterTheConnectionWasReset) {
  TlsServer server("http/1.1", [](SSL* tls) {
    char byte = 0;
    if (SSL_read(tls, &byte, 1) == 1) {
      Send(tls, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig");
    }
  });
  for (int i = 0; i < 20; ++i) {
    HttpRequest request = QuestionOverHttp1(server.url());
    request.body.assign(8 * kLarge, 'x');
    Run([&] {
      const auto call = *client_.Start(std::move(request), {});
      const Result<HttpHead> head = call->ReadHead();
      ASSERT_TRUE(head.ok()) << head.status().ToString();
      EXPECT_EQ(head->status, 413);
      EXPECT_EQ(*call->ReadRest(100), "big");
    });
  }
}

TEST_F(Http1TlsTest, ALargeReplyWaitsForItsReader) {
  std::atomic<int> connections = 0;
  const TlsServer server("http/1.1", Answering(ReplyOf(kLarge), connections));
  Run([&] {
    for (int i = 0; i < 2; ++i) {
      const auto call = *client_.Start(Question(server.url()), {});
      ASSERT_TRUE(call->ReadHead().ok());
      size_t size = 0;
      for (;;) {
        const Result<std::string> piece = call->Read();
        ASSERT_TRUE(piece.ok()) << piece.status().ToString();
        if (piece->empty()) break;
        EXPECT_LE(piece->size(), kReadAheadBytes + 32 * 1024);
        size += piece->size();
      }
      EXPECT_EQ(size, kLarge);
    }
  });
  EXPECT_EQ(connections, 1);
}

// Servers send tickets for later sessions at any time.
TEST_F(Http1TlsTest, ATicketAfterTheReplyLeavesTheConnectionUsable) {
  std::promise<void> sent;
  std::atomic<int> connections = 0;
  const TlsServer server("http/1.1", [&](SSL* tls) {
    if (!ReadRequest(tls)) return;
    Send(tls, kOk);
    if (++connections == 1) {
      SSL_new_session_ticket(tls);
      SSL_do_handshake(tls);
      sent.set_value();
    }
    if (ReadRequest(tls)) Send(tls, kOk);
  });
  EXPECT_EQ(*Fetch(Question(server.url())), "hello");
  sent.get_future().wait();
  EXPECT_EQ(*Fetch(Question(server.url())), "hello");
  EXPECT_EQ(connections, 1);
}

TEST_F(Http1TlsTest, AnEndedSessionIsNotUsedAgain) {
  std::promise<void> ended;
  std::atomic<int> connections = 0;
  const TlsServer server("http/1.1", [&](SSL* tls) {
    if (!ReadRequest(tls)) return;
    Send(tls, kOk);
    if (++connections > 1) return;
    SSL_shutdown(tls);
    ended.set_value();
  });
  EXPECT_EQ(*Fetch(Question(server.url())), "hello");
  ended.get_future().wait();
  Run([&] {
    const auto call = *client_.Start(Question(server.url()), {});
    EXPECT_EQ(*call->ReadRest(100), "hello");
    EXPECT_EQ(call->sends(), 1);
  });
}

TEST_F(Http1TlsTest, AServerWithoutTls) {
  const ScriptedServer closing([](Connection&) {});
  const ScriptedServer plain([](Connection& connection) {
    connection.Send("HTTP/1.1 400 Bad Request\r\n\r\n");
    connection.WaitUntilPeerCloses();
  });
  for (const ScriptedServer* server : {&closing, &plain}) {
    const Status status = Fetch(QuestionOverHttp1(server->url())).status();
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_EQ(status.message(), "no secure connection to the server");
    EXPECT_NE(status.detail(), "");
  }
}

TEST_F(Http1TlsTest, AHandshakeThatDoesNotEnd) {
  const ScriptedServer silent([](Connection& connection) { connection.WaitUntilPeerCloses(); });
  HttpRequest request = QuestionOverHttp1(silent.url());
  request.connect_timeout = milliseconds(50);
  EXPECT_EQ(Fetch(request).status().message(), "the server could not be connected in time");
  request.connect_timeout = milliseconds(10'000);
  request.deadline = DeadlineAfter(milliseconds(50));
  EXPECT_EQ(Fetch(request).status().code(), StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace agent_graph::net

// An HTTP client on a fiber, with calls that tests make.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_client.h"
#include "net/url.h"
#include "on_fiber.h"
#include "resetting_server.h"
#include "runtime/signal.h"
#include "scripted_server.h"
#include "tls_relay.h"

namespace agent_graph::net {

using runtime::Cancellation;
using testing::ResettingServer;

inline constexpr char kOk[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
inline constexpr char kChunkedHead[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

// How a call reaches an HTTP/1.1 server.
enum class Way { kPlain, kTls, kLibcurl };

class HttpClientTest : public testing::OnFiber {
 protected:
  // `url` begins with "http://"; over TLS the call goes through a relay.
  HttpRequest Post(const std::string& url) {
    HttpRequest request;
    request.url = url;
    // Our own client leaves URLs with a user to libcurl.
    if (way_ == Way::kLibcurl) request.url.insert(kScheme.size(), "user:@");
    if (way_ == Way::kTls) PutTlsInFront(request);
    request.headers = {{"Content-Type", "text/plain"}};
    request.body = "question";
    return request;
  }

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
    std::vector<runtime::Promise<std::string>> bodies(static_cast<size_t>(count));
    for (const auto& body : bodies) {
      runtime_.Spawn([this, url, body] { body.Set(FetchHere(url)); }, /*here=*/true);
    }
    for (const auto& body : bodies) EXPECT_EQ(*body.Wait(nullptr, kNoDeadline), "hello");
  }
  std::string FetchHere(const std::string& url) {
    const auto call = client_.Start(Post(url), {});
    if (!call.ok()) return call.status().ToString();
    const Result<std::string> body = (*call)->ReadRest(100);
    return body.ok() ? *body : body.status().ToString();
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
  Way way_ = Way::kPlain;

 private:
  static constexpr std::string_view kScheme = "http://";

  void PutTlsInFront(HttpRequest& request) {
    const auto url = ParseUrl(request.url);
    if (!url || url->host != "127.0.0.1") return;
    request.lasts_long = true;  // only such calls use our own client for TLS
    const int port = std::stoi(url->port);
    if (port == testing::ClosedPort()) {
      request.url.replace(0, kScheme.size(), "https://");
    } else {
      request.url = relays_.try_emplace(port, port).first->second.url(url->path);
    }
  }

  std::map<int, testing::TlsRelay> relays_;  // by the port of the server
};

// Runs over all ways of calling an HTTP/1.1 server.
class HttpClientWaysTest : public HttpClientTest, public ::testing::WithParamInterface<Way> {
 protected:
  void SetUp() override {
    HttpClientTest::SetUp();
    way_ = GetParam();
    client_ = ClientOf({});
  }
  HttpClient ClientOf(Environment environment) const {
    if (way_ == Way::kTls) environment["CURL_CA_BUNDLE"] = testing::TlsServer::ca_file();
    return HttpClient(environment);
  }
};

}  // namespace agent_graph::net

// Makes calls over HTTP/2 to a server of the test.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/http_client.h"
#include "on_fiber.h"
#include "tls_server.h"

namespace agent_graph::net {

class Http2Test : public testing::OnFiber {
 protected:
  static HttpClient ClientOf(const testing::Http2TlsServer& server) {
    return HttpClient({{"CURL_CA_BUNDLE", server.ca_file()}});
  }
  static HttpRequest Post(const testing::Http2TlsServer& server, const std::string& path = "/") {
    HttpRequest request;
    request.url = server.url(path);
    request.lasts_long = true;
    request.headers = {{"Content-Type", "text/plain"}, {"Connection", "keep-alive"}};
    request.body = "question";
    return request;
  }
  static Result<std::string> Fetch(const HttpClient& client, HttpRequest request,
                                   int* sends = nullptr) {
    AG_ASSIGN_OR_RETURN(const auto call, client.Start(std::move(request), {}));
    const Status status = call->ReadHead().status();
    if (sends != nullptr) *sends = call->sends();
    AG_RETURN_IF_ERROR(status);
    std::string body;
    for (;;) {
      AG_ASSIGN_OR_RETURN(const std::string piece, call->Read());
      if (piece.empty()) return body;
      body += piece;
    }
  }
  // Starts `count` calls at once; returns how many of them succeed.
  static int FetchAtOnce(const HttpClient& client, const HttpRequest& request, int count,
                         int* sends_max = nullptr) {
    std::vector<std::unique_ptr<HttpCall>> calls;
    for (int i = 0; i < count; ++i) calls.push_back(*client.Start(request, {}));
    int succeeded = 0;
    for (const auto& call : calls) {
      const Result<std::string> body = call->ReadRest(1'000'000);
      if (body.ok() && *body == "hello" && call->ReadHead().ok()) ++succeeded;
      if (sends_max != nullptr) *sends_max = std::max(*sends_max, call->sends());
    }
    return succeeded;
  }
};

}  // namespace agent_graph::net

#include "net/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "base/letter_case.h"
#include "net/http2_call.h"
#include "net/http2_host.h"
#include "net/http_transfer.h"
#include "net/start_http1.h"
#include "net/url.h"
#include "runtime/runtime.h"

namespace agent_graph::net {
namespace {

constexpr char kSystemCaFile[] = "/etc/ssl/certs/ca-certificates.crt";

}  // namespace

HttpClient::HttpClient(const Environment& environment) : proxies_(environment) {
  static std::once_flag initialised;
  std::call_once(initialised, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  ca_file_ = FirstOf(environment, {"CURL_CA_BUNDLE", "SSL_CERT_FILE"});
  if (ca_file_.empty()) ca_file_ = kSystemCaFile;
}

Result<std::unique_ptr<HttpCall>> HttpClient::Start(
    HttpRequest request, const runtime::Cancellation& cancellation) const {
  boost::asio::io_context* const loop = runtime::Runtime::CurrentLoop();
  if (loop == nullptr) {
    return Status(StatusCode::kInternal, "an HTTP call was made outside an engine thread");
  }
  if (!StartsWithIgnoringCase(request.url, "https://") &&
      !StartsWithIgnoringCase(request.url, "http://")) {
    return Status(StatusCode::kInvalidArgument, "the address of the server is not usable");
  }
  const HttpRoute route{.proxy = proxies_.For(request.url), .ca_file = ca_file_};
  if (std::optional<Url> url = Http2Call::Serves(request)) {
    const auto host = Http2Hosts::Of(*loop).HostFor(*url, route.proxy, ca_file_);
    if (host != nullptr && host->may_offer_http2()) {
      auto call = std::make_unique<Http2Call>(*loop, host, *std::move(url), std::move(request),
                                              route, cancellation);
      AG_RETURN_IF_ERROR(call->Start());
      return std::unique_ptr<HttpCall>(new HttpCall(std::move(call)));
    }
  }
  AG_ASSIGN_OR_RETURN(
      auto call, StartHttp1(*loop, std::move(request), route, cancellation, MonotonicClock::now()));
  return std::unique_ptr<HttpCall>(new HttpCall(std::move(call)));
}

std::string_view HttpHead::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

HttpCall::HttpCall(std::unique_ptr<Transfer> transfer) : transfer_(std::move(transfer)) {}
HttpCall::~HttpCall() = default;

Status HttpCall::Write(std::string piece) {
  return transfer_->Write(std::move(piece));
}

Result<HttpHead> HttpCall::ReadHead() {
  AG_ASSIGN_OR_RETURN(HttpHead* const head, transfer_->ReadHead());
  return std::move(*head);
}

Result<std::string> HttpCall::Read() {
  return transfer_->Read();
}

Result<std::string> HttpCall::ReadRest(size_t bytes_max) {
  std::string body;
  while (body.size() < bytes_max) {
    AG_ASSIGN_OR_RETURN(const std::string piece, Read());
    if (piece.empty()) break;
    body.append(piece, 0, bytes_max - body.size());
  }
  return body;
}

int HttpCall::sends() const {
  return transfer_->sends();
}

void HttpCall::LimitDeadline(Deadline deadline) {
  transfer_->LimitDeadline(deadline);
}

void HttpCall::SetIdleTimeout(std::chrono::milliseconds timeout) {
  transfer_->SetIdleTimeout(timeout);
}

void HttpCall::Drain(std::chrono::milliseconds timeout) {
  LimitDeadline(DeadlineAfter(timeout));
  for (;;) {
    const Result<std::string> piece = Read();
    if (!piece.ok() || piece->empty()) return;
  }
}

}  // namespace agent_graph::net

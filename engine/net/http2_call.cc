#include "net/http2_call.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/free_memory.h"
#include "base/letter_case.h"
#include "net/http_failure.h"

namespace agent_graph::net {
namespace {

constexpr int kSendsMax = 2;

// RFC 9113, 8.2.2: headers that are about a connection. The others are set by MakeHeaders.
bool IsOmitted(std::string_view name) {
  constexpr std::string_view kOmitted[] = {"connection", "content-length",    "expect",
                                           "host",       "keep-alive",        "proxy-connection",
                                           "te",         "transfer-encoding", "upgrade"};
  return std::find(std::begin(kOmitted), std::end(kOmitted), name) != std::end(kOmitted);
}

Status ClosedEarly(const char* detail) {
  return StatusOf(HttpFailure::kClosed).WithDetail(detail);
}

const char* DetailOf(Http2End end) {
  switch (end) {
    case Http2End::kRefused:
      return "the server refused the HTTP/2 stream";
    case Http2End::kLost:
      return "the HTTP/2 connection was lost";
    default:
      return "the HTTP/2 stream was reset";
  }
}

}  // namespace

std::optional<Url> Http2Call::Serves(const HttpRequest& request) {
  const bool may_try = request.lasts_long && request.http2 && !request.once;
  if (!may_try || request.upload_bytes) return std::nullopt;
  std::optional<Url> url = ParseUrl(request.url);
  if (!url || url->scheme != "https" || !IsPlain(*url)) return std::nullopt;
  return url;
}

Http2Call::Http2Call(boost::asio::io_context& loop, std::shared_ptr<Http2Host> host, Url url,
                     HttpRequest request, HttpRoute http1_route,
                     const runtime::Cancellation& cancellation)
    : Transfer(std::move(request), cancellation, MonotonicClock::now()),
      loop_(loop),
      host_(std::move(host)),
      url_(std::move(url)),
      http1_route_(std::move(http1_route)) {}

Http2Call::~Http2Call() {
  host_->Remove(*this);
  if (connection_ != nullptr) connection_->Reset(number_);
}

Status Http2Call::Start() {
  AG_RETURN_IF_ERROR(CheckStillWanted());
  AG_RETURN_IF_ERROR(CheckHeaders());
  host_->Add(*this);
  return Status::Ok();
}

HttpHeaders Http2Call::MakeHeaders() const {
  std::string authority = HostHeader(url_);
  HttpHeaders rest;
  bool accepts = false;
  for (const auto& [name, value] : request_.headers) {
    std::string lower = LowerCase(name);
    if (lower == "host" && !value.empty()) authority = value;
    if (IsOmitted(lower)) continue;
    accepts = accepts || lower == "accept";
    rest.emplace_back(std::move(lower), value);
  }
  if (!accepts) rest.emplace_back("accept", "*/*");
  if (request_.method == "POST" || !request_.body.empty()) {
    rest.emplace_back("content-length", std::to_string(request_.body.size()));
  }
  HttpHeaders headers = {{":method", request_.method},
                         {":scheme", "https"},
                         {":authority", std::move(authority)},
                         {":path", url_.path}};
  headers.insert(headers.end(), std::make_move_iterator(rest.begin()),
                 std::make_move_iterator(rest.end()));
  return headers;
}

void Http2Call::OnConnection(const std::shared_ptr<Http2Connection>& connection) {
  body_given_ = 0;
  is_kept_ = connection->is_kept();
  number_ = connection->Open(MakeHeaders(), !request_.body.empty(), *this);
  if (number_ == 0) return End(ClosedEarly("no HTTP/2 stream could be opened"));
  connection_ = connection;
  ++sends_;
}

void Http2Call::OnNoHttp2() {
  // A request that was sent before must not be sent on a kept connection, because that may cost two
  // more sends.
  request_.once = sends_ > 0;
  auto call = StartHttp1(loop_, std::move(request_), http1_route_, cancellation_, started_);
  if (!call.ok()) return End(call.status());
  http1_ = *std::move(call);
  progress_.Notify();
}

void Http2Call::OnConnectTimeout() {
  End(StatusOf(HttpFailure::kConnectTimeout));
}

size_t Http2Call::GiveBody(char* data, size_t room, bool& end) {
  const size_t size = request_.body.copy(data, room, body_given_);
  body_given_ += size;
  end = body_given_ == request_.body.size();
  if (end && head_complete_) FreeMemory(request_.body);
  return size;
}

void Http2Call::OnHeader(std::string_view name, std::string_view value) {
  if (head_complete_) return;  // trailers
  head_bytes_ += name.size() + value.size();
  if (head_bytes_ > kHeadBytesMax) return EndTooLarge(kHeadBytesMax);
  if (name == ":status") {
    head_ = HttpHead();
    std::from_chars(value.data(), value.data() + value.size(), head_.status);
  } else {
    head_.headers.emplace_back(name, value);
  }
}

void Http2Call::OnHeadersEnd() {
  if (head_complete_) return;
  if (head_.status < 200) {
    head_ = HttpHead();  // an interim reply; its bytes count, so that there is an end to them
    return;
  }
  head_complete_ = true;
  // The request is not sent again from here on. A server may answer before it has all of it.
  if (body_given_ == request_.body.size()) FreeMemory(request_.body);
  FreeMemory(request_.headers);
  FreeMemory(request_.url);
  progress_.Notify();
}

void Http2Call::OnBody(std::string_view piece) {
  body_bytes_ += piece.size();
  if (body_bytes_ > request_.reply_bytes_max) return EndTooLarge(request_.reply_bytes_max);
  body_ += piece;
  progress_.Notify();
}

bool Http2Call::MaySendAgain(Http2End end) const {
  if (head_complete_ || sends_ >= kSendsMax) return false;
  return end == Http2End::kRefused || end == Http2End::kHttp11Required ||
         (end == Http2End::kLost && is_kept_);
}

void Http2Call::OnEnd(Http2End end) {
  connection_ = nullptr;
  number_ = 0;
  if (end == Http2End::kComplete) {
    return End(head_complete_ ? Status::Ok() : ClosedEarly("the reply has no head"));
  }
  if (!MaySendAgain(end)) return End(ClosedEarly(DetailOf(end)));
  head_ = HttpHead();
  head_bytes_ = 0;
  if (end == Http2End::kHttp11Required) return OnNoHttp2();
  // Other connections may be dead, too.
  newer_than_ = host_->newest_serial();
  host_->Add(*this);
}

void Http2Call::End(Status status) {
  done_ = true;
  result_ = std::move(status);
  progress_.Notify();
}

void Http2Call::EndTooLarge(size_t bytes_max) {
  if (connection_ != nullptr) std::exchange(connection_, nullptr)->Reset(number_);
  End(TooLarge(bytes_max));
}

Status Http2Call::EndedWait(Status status, Deadline began) {
  if (status.code() != StatusCode::kUnavailable) return status;
  if (connection_ != nullptr) connection_->DoubtSince(began);
  if (sends_ > 0) return status;
  return StatusOf(HttpFailure::kConnectTimeout);
}

Status Http2Call::Write(std::string piece) {
  return http1_ != nullptr ? http1_->Write(std::move(piece)) : Status::Ok();
}

Result<HttpHead*> Http2Call::ReadHead() {
  while (!head_complete_) {
    AG_RETURN_IF_ERROR(CheckStillWanted());
    if (done_) return result_;
    if (http1_ != nullptr) return http1_->ReadHead();
    const auto timeout = sends_ > 0
                             ? request_.first_byte_timeout
                             : std::min(request_.first_byte_timeout, request_.connect_timeout);
    const Status waited = WaitUntil(started_ + timeout, "did not answer within", timeout);
    if (!waited.ok()) return EndedWait(waited, started_);
  }
  return &head_;
}

Result<std::string> Http2Call::Read() {
  for (;;) {
    AG_RETURN_IF_ERROR(CheckStillWanted());
    if (http1_ != nullptr) return http1_->Read();
    if (!body_.empty()) {
      std::string piece = std::exchange(body_, {});
      if (connection_ != nullptr) connection_->Consume(number_, piece.size());
      return piece;
    }
    if (done_) return result_.ok() ? Result<std::string>(std::string()) : result_;
    const Deadline began = MonotonicClock::now();
    const Status waited =
        WaitUntil(began + request_.idle_timeout, "sent nothing for", request_.idle_timeout);
    if (!waited.ok()) return EndedWait(waited, began);
  }
}

int Http2Call::sends() const {
  return sends_ + (http1_ != nullptr ? http1_->sends() : 0);
}

void Http2Call::LimitDeadline(Deadline deadline) {
  Transfer::LimitDeadline(deadline);
  if (http1_ != nullptr) http1_->LimitDeadline(deadline);
}

void Http2Call::SetIdleTimeout(std::chrono::milliseconds timeout) {
  Transfer::SetIdleTimeout(timeout);
  if (http1_ != nullptr) http1_->SetIdleTimeout(timeout);
}

}  // namespace agent_graph::net

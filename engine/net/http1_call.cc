#include "net/http1_call.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "base/free_memory.h"
#include "base/letter_case.h"
#include "net/http_failure.h"
#include "net/open_socket.h"
#include "net/tls_contexts.h"

namespace agent_graph::net {
namespace {

// Reads in one turn of the event loop, so that a fast server cannot keep the thread from its timers
// and other sockets.
constexpr int kReadsPerTurn = 16;

bool HasHeader(const HttpHeaders& headers, std::string_view name) {
  return std::any_of(headers.begin(), headers.end(),
                     [name](const auto& header) { return EqualsIgnoringCase(header.first, name); });
}

bool UsesTls(const Url& url) {
  return url.scheme == "https";
}

// Headers about the length of the body, which the call knows itself.
bool IsAboutLength(std::string_view name) {
  return EqualsIgnoringCase(name, "content-length") ||
         EqualsIgnoringCase(name, "transfer-encoding") || EqualsIgnoringCase(name, "expect");
}

// The name under which a connection is kept.
std::string NameOf(const Url& url, const std::string& ca_file) {
  return UsesTls(url) ? "https://" + HostAndPort(url) + " " + ca_file : HostAndPort(url);
}

}  // namespace

std::optional<Url> Http1Call::Serves(const HttpRequest& request) {
  if (request.upload_bytes) return std::nullopt;
  std::optional<Url> url = ParseUrl(request.url);
  if (!url || !IsPlain(*url)) return std::nullopt;
  // Certificates have no dot at the end of a name; libcurl removes it.
  if (UsesTls(*url) && (!request.lasts_long || url->host.ends_with('.'))) return std::nullopt;
  return url;
}

Http1Call::Http1Call(boost::asio::io_context& loop, Url url, HttpRequest request,
                     const std::string& ca_file, const runtime::Cancellation& cancellation,
                     Deadline started)
    : Transfer(std::move(request), cancellation, started),
      loop_(loop),
      url_(std::move(url)),
      server_(NameOf(url_, ca_file)),
      tls_(UsesTls(url_) ? TlsContextFor(ca_file) : nullptr),
      sends_max_(request_.once ? 1 : 2) {}

Http1Call::~Http1Call() {
  if (connection_ != nullptr) connection_->Close();
}

Status Http1Call::Start() {
  AG_RETURN_IF_ERROR(CheckStillWanted());
  AG_RETURN_IF_ERROR(CheckHeaders());
  head_ = HeadOfRequest();
  FreeMemory(request_.headers);
  FreeMemory(request_.url);
  FreeMemory(url_.path);
  reply_ = std::make_unique<ReplyParser>(request_.method == "HEAD", kHeadBytesMax);
  std::shared_ptr<Http1Connection> kept;
  if (!request_.once) kept = Http1Connections::Of(loop_).Take(server_);
  if (kept != nullptr) {
    is_kept_ = true;
    UseConnection(std::move(kept));
    // TLS needs more stack than a waiting fiber should keep, so the event loop sends.
    tls_ != nullptr ? connection_->StartWaitingForRoom() : Proceed();
  } else if (const auto addresses = AddressOf(url_.host, url_.port); !addresses.empty()) {
    UseNewConnection(addresses.front());
  }
  return Status::Ok();
}

std::string Http1Call::HeadOfRequest() const {
  std::string head = request_.method + " " + url_.path + " HTTP/1.1\r\n";
  if (!HasHeader(request_.headers, "host")) head += "Host: " + HostHeader(url_) + "\r\n";
  if (!HasHeader(request_.headers, "accept")) head += "Accept: */*\r\n";
  if (request_.once) head += "Connection: close\r\n";
  for (const auto& [name, value] : request_.headers) {
    if (IsAboutLength(name)) continue;
    head += name;
    head += ": ";
    head += value;
    head += "\r\n";
  }
  if (!request_.body.empty() || request_.method == "POST" || request_.method == "PUT") {
    head += "Content-Length: " + std::to_string(request_.body.size()) + "\r\n";
  }
  return head += "\r\n";
}

Status Http1Call::Write(std::string) {
  return Status::Ok();
}

void Http1Call::UseConnection(std::shared_ptr<Http1Connection> connection) {
  if (connection_ != nullptr) connection_->Close();
  connection_ = std::move(connection);
  connection_->set_user(this);
}

void Http1Call::UseNewConnection(const StreamEndpoint& endpoint) {
  UseConnection(std::make_shared<Http1Connection>(loop_, tls_, url_.host));
  connection_->StartConnecting(endpoint);
}

Status Http1Call::Connect() {
  const Deadline deadline =
      std::min(attempt_began_ + request_.connect_timeout, started_ + request_.first_byte_timeout);
  if (connection_ != nullptr) return AwaitConnection(deadline, deadline);
  std::vector<StreamEndpoint> addresses = AddressOf(url_.host, url_.port);
  if (addresses.empty()) {
    Result<std::vector<StreamEndpoint>> found =
        Resolve(url_.host, url_.port, &cancellation_, std::min(deadline, request_.deadline));
    AG_RETURN_IF_ERROR(CheckStillWanted());
    if (!found.ok()) return StatusOf(HttpFailure::kResolve).WithDetail(found.status().detail());
    addresses = *std::move(found);
  }
  Status status;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const bool is_last = i + 1 == addresses.size();
    UseNewConnection(addresses[i]);
    const Deadline reach_until = is_last ? deadline : DeadlineAfter(kAddressTime);
    status = AwaitConnection(std::min(reach_until, deadline), deadline);
    if (connection_ == nullptr || connection_->has_reached_server()) break;
  }
  return status;
}

Status Http1Call::AwaitConnection(Deadline reach_until, Deadline deadline) {
  while (connection_ != nullptr && connection_->is_connecting()) {
    AG_RETURN_IF_ERROR(CheckStillWanted());
    const Deadline until = connection_->has_reached_server() ? deadline : reach_until;
    if (MonotonicClock::now() >= until) {
      return StatusOf(HttpFailure::kConnectTimeout).WithDetail(HostAndPort(url_));
    }
    (void)progress_.Wait(&cancellation_, std::min(until, request_.deadline));
  }
  // The event loop may have received the whole reply meanwhile, and have left the connection.
  if (connection_ == nullptr || connection_->is_connected()) return Status::Ok();
  return connection_->failure();
}

void Http1Call::OnChange() {
  try {
    Proceed();
  } catch (const std::exception&) {
    failure_ = StatusOf(HttpFailure::kMemory);
  }
  progress_.Notify();
}

void Http1Call::Proceed() {
  if (!connection_->is_connected()) return;
  SendSome();
  for (int reads = 0; reads < kReadsPerTurn && MayReceive() && connection_->may_read(); ++reads) {
    failure_ = Receive();
  }
  if (MayReceive()) connection_->StartWaitingForBytes();
}

bool Http1Call::MayReceive() const {
  return connection_ != nullptr && failure_.ok() && body_.size() < kReadAheadBytes;
}

void Http1Call::SendSome() {
  if (is_sent_ || stops_sending_) return;
  if (sent_ == 0) ++sends_;
  const size_t all = head_.size() + request_.body.size();
  while (sent_ < all) {
    const size_t of_head = std::min(sent_, head_.size());
    const auto count = connection_->Send(std::string_view(head_).substr(of_head),
                                         std::string_view(request_.body).substr(sent_ - of_head));
    stops_sending_ = !count.has_value();
    if (stops_sending_) return;
    if (*count == 0) return connection_->StartWaitingForRoom();
    sent_ += *count;
  }
  is_sent_ = true;
}

Status Http1Call::Receive() {
  std::vector<char>& buffer = Http1Connections::Of(loop_).buffer();
  const std::optional<size_t> bytes = connection_->Read(buffer.data(), buffer.size());
  if (!bytes) return Status::Ok();
  if (*bytes == 0) {
    is_lost_ = true;
    AG_RETURN_IF_ERROR(connection_->failure());
    AG_RETURN_IF_ERROR(reply_->TakeEnd());
  } else {
    AG_RETURN_IF_ERROR(TakeBytes({buffer.data(), *bytes}));
  }
  if (reply_->has_head()) {
    if (reply_->head().status >= 400) stops_sending_ = true;  // the server may read no more
    if (is_sent_ || stops_sending_) {
      FreeMemory(head_);
      FreeMemory(request_.body);
    }
  }
  if (reply_->is_complete()) LeaveConnection();
  return Status::Ok();
}

Status Http1Call::TakeBytes(std::string_view bytes) {
  const size_t before = body_.size();
  Status status = reply_->Take(bytes, body_);
  body_bytes_ += body_.size() - before;
  if (status.code() == StatusCode::kResourceExhausted) return TooLarge(kHeadBytesMax);
  if (body_bytes_ <= request_.reply_bytes_max) return status;
  body_.resize(before);
  return TooLarge(request_.reply_bytes_max);
}

void Http1Call::LeaveConnection() {
  if (reply_->keeps_connection() && is_sent_ && !is_lost_ && !request_.once) {
    connection_->set_user(nullptr);
    Http1Connections::Of(loop_).Keep(server_, std::move(connection_));
  } else {
    connection_->Close();
  }
  connection_ = nullptr;
}

bool Http1Call::MaySendAgain() const {
  return is_lost_ && is_kept_ && !reply_->has_begun() && sends_ < sends_max_;
}

Result<HttpHead*> Http1Call::ReadHead() {
  while (!reply_->has_head()) {
    AG_RETURN_IF_ERROR(CheckStillWanted());
    if (!failure_.ok()) {
      if (!MaySendAgain()) return failure_;
      connection_->Close();
      connection_ = nullptr;
      is_kept_ = is_lost_ = is_sent_ = stops_sending_ = false;
      sent_ = 0;
      failure_ = Status::Ok();
      attempt_began_ = MonotonicClock::now();
    }
    AG_RETURN_IF_ERROR(Connect());
    if (reply_->has_head() || !failure_.ok()) continue;
    AG_RETURN_IF_ERROR(WaitUntil(started_ + request_.first_byte_timeout, "did not answer within",
                                 request_.first_byte_timeout));
  }
  return &reply_->head();
}

Result<std::string> Http1Call::Read() {
  AG_RETURN_IF_ERROR(ReadHead().status());
  for (;;) {
    AG_RETURN_IF_ERROR(CheckStillWanted());
    if (!body_.empty()) {
      std::string piece = std::exchange(body_, {});
      if (MayReceive()) connection_->StartWaitingForBytes();
      return piece;
    }
    AG_RETURN_IF_ERROR(failure_);
    if (reply_->is_complete()) return std::string();
    AG_RETURN_IF_ERROR(
        WaitUntil(DeadlineAfter(request_.idle_timeout), "sent nothing for", request_.idle_timeout));
  }
}

}  // namespace agent_graph::net

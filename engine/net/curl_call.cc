#include "net/curl_call.h"

#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <utility>

#include "base/free_memory.h"
#include "base/letter_case.h"
#include "base/text.h"
#include "net/http_failure.h"

namespace agent_graph::net {
namespace {

constexpr std::string_view kLineBlanks = " \t\r\n";
// libcurl reads once per turn, with a poll and a recv. A call that receives tokens in small pieces
// only touches the first page of this buffer.
constexpr long kReceiveBufferBytes = 16 * 1024;

HttpFailure FailureOf(CURLcode result) {
  switch (result) {
    case CURLE_URL_MALFORMAT:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return HttpFailure::kAddress;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return HttpFailure::kCertificate;
    case CURLE_COULDNT_RESOLVE_HOST:
      return HttpFailure::kResolve;
    case CURLE_COULDNT_CONNECT:
      return HttpFailure::kConnect;
    case CURLE_OPERATION_TIMEDOUT:
      return HttpFailure::kConnectTimeout;
    case CURLE_SSL_CONNECT_ERROR:
      return HttpFailure::kTls;
    case CURLE_OK:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      return HttpFailure::kClosed;
    case CURLE_OUT_OF_MEMORY:
      return HttpFailure::kMemory;
    default:
      return HttpFailure::kReply;
  }
}

}  // namespace

CurlCall::CurlCall(CurlLoop& loop, HttpRequest request, const runtime::Cancellation& cancellation,
                   Deadline started)
    : Transfer(std::move(request), cancellation, started),
      loop_(loop),
      sends_max_(request_.once || request_.upload_bytes ? 1 : 2) {}

CurlCall::~CurlCall() {
  if (added_) loop_.Remove(handle_);
  if (resend_refused_) {
    // The handle would still try to rewind its body, which makes the next upload fail: a reset does
    // not clear that.
    curl_easy_cleanup(handle_);
  } else if (handle_ != nullptr) {
    loop_.GiveBack(handle_);
  }
  curl_slist_free_all(header_list_);
}

Status CurlCall::Start(const HttpRoute& route) {
  AG_RETURN_IF_ERROR(CheckStillWanted());
  AG_RETURN_IF_ERROR(CheckHeaders());
  handle_ = loop_.TakeHandle();
  if (handle_ == nullptr || !SetHeaders()) return StatusOf(HttpFailure::kMemory);
  SetOptions(route);
  added_ = loop_.Add(handle_, this);
  return added_ ? Status::Ok() : StatusOf(HttpFailure::kMemory);
}

bool CurlCall::SetHeaders() {
  const auto append = [this](const std::string& line) {
    curl_slist* const longer = curl_slist_append(header_list_, line.c_str());
    if (longer != nullptr) header_list_ = longer;
    return longer != nullptr;
  };
  // Without this, libcurl waits for "100 Continue" before it sends a large body.
  if (!append("Expect:")) return false;
  for (const auto& [name, value] : request_.headers) {
    std::string line = name;
    line += value.empty() ? ";" : ": ";
    line += value;
    if (!append(line)) return false;
  }
  FreeMemory(request_.headers);  // libcurl has its own copy
  return true;
}

void CurlCall::SetOptions(const HttpRoute& route) {
  const auto set = [this](CURLoption option, auto value) {
    curl_easy_setopt(handle_, option, value);
  };
  set(CURLOPT_URL, request_.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  if (request_.upload_bytes) {
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(*request_.upload_bytes));
    set(CURLOPT_READFUNCTION, &OnUpload);
    set(CURLOPT_READDATA, this);
  } else if (request_.method == "POST" || !request_.body.empty()) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    set(CURLOPT_POSTFIELDS, request_.body.c_str());
  }
  set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  set(CURLOPT_HTTPHEADER, header_list_);
  // Set even if empty: otherwise libcurl reads the environment of the process.
  set(CURLOPT_PROXY, route.proxy.c_str());
  set(CURLOPT_NOPROXY, "");  // the route has already applied no_proxy
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  // Debian's default CA directory disables libcurl's cache of the parsed certificate store. Without
  // the cache each new connection costs tens of milliseconds of this thread.
  set(CURLOPT_CAPATH, static_cast<char*>(nullptr));
  set(CURLOPT_CAINFO, route.ca_file.c_str());
  set(CURLOPT_PROXY_CAPATH, static_cast<char*>(nullptr));
  set(CURLOPT_PROXY_CAINFO, route.ca_file.c_str());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // a cancelled call must not wait for a resolver thread
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_BUFFERSIZE, kReceiveBufferBytes);
  SetConnectionOptions();
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request_.connect_timeout.count()));
  set(CURLOPT_ERRORBUFFER, error_text_);
  set(CURLOPT_HEADERFUNCTION, &OnHeader);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &OnBody);
  set(CURLOPT_WRITEDATA, this);
}

// If a kept connection is lost before the first byte of the reply, libcurl sends the request again,
// whatever its method: up to five times, each on the next kept connection, and no option turns that
// off. Its callbacks before each connection and before each request limit it here.
void CurlCall::SetConnectionOptions() {
  curl_easy_setopt(handle_, CURLOPT_FRESH_CONNECT, request_.once ? 1L : 0L);
  curl_easy_setopt(handle_, CURLOPT_FORBID_REUSE, request_.once ? 1L : 0L);
  curl_easy_setopt(handle_, CURLOPT_PREREQFUNCTION, &OnSend);
  curl_easy_setopt(handle_, CURLOPT_PREREQDATA, this);
  curl_easy_setopt(handle_, CURLOPT_OPENSOCKETFUNCTION, &OnOpen);
  curl_easy_setopt(handle_, CURLOPT_OPENSOCKETDATA, this);
}

bool CurlCall::MaySend() {
  resend_refused_ = sends_ == sends_max_;
  return !resend_refused_;
}

// Checked here as well as in OnSend, so that no useless connection is opened.
curl_socket_t CurlCall::OnOpen(void* self, curlsocktype, curl_sockaddr* address) {
  if (!static_cast<CurlCall*>(self)->MaySend()) return CURL_SOCKET_BAD;
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

int CurlCall::OnSend(void* self, char*, char*, int, int) {
  auto& call = *static_cast<CurlCall*>(self);
  if (!call.MaySend()) return CURL_PREREQFUNC_ABORT;
  ++call.sends_;
  // A second send opens a new connection: other kept connections may be dead, too.
  curl_easy_setopt(call.handle_, CURLOPT_FRESH_CONNECT, 1L);
  return CURL_PREREQFUNC_OK;
}

size_t CurlCall::OnHeader(char* data, size_t size, size_t count, void* self) {
  try {
    return static_cast<CurlCall*>(self)->TakeHeaderLine({data, size * count});
  } catch (const std::exception&) {
    return 0;
  }
}

size_t CurlCall::OnBody(char* data, size_t size, size_t count, void* self) {
  try {
    return static_cast<CurlCall*>(self)->TakeBody({data, size * count});
  } catch (const std::exception&) {
    return 0;
  }
}

size_t CurlCall::OnUpload(char* data, size_t size, size_t count, void* self) {
  return static_cast<CurlCall*>(self)->GiveUpload(data, size * count);
}

size_t CurlCall::TakeHeaderLine(std::string_view line) {
  if (head_complete_) return line.size();  // trailers
  head_bytes_ += line.size();
  if (head_bytes_ > kHeadBytesMax) {
    too_large_ = true;
    return 0;
  }
  const size_t taken = line.size();
  line = Trim(line, kLineBlanks);
  if (line.starts_with("HTTP/")) {
    head_ = HttpHead();
    const size_t space = std::min(line.find(' '), line.size());
    const std::string_view code = Trim(line.substr(space), kLineBlanks).substr(0, 3);
    std::from_chars(code.data(), code.data() + code.size(), head_.status);
  } else if (line.empty()) {
    head_complete_ = head_.status >= 200;
    if (head_complete_) progress_.Notify();
  } else if (const size_t colon = line.find(':'); colon != std::string_view::npos) {
    head_.headers.emplace_back(LowerCase(line.substr(0, colon)),
                               Trim(line.substr(colon + 1), kLineBlanks));
  }
  return taken;
}

size_t CurlCall::TakeBody(std::string_view piece) {
  if (body_.size() >= kReadAheadBytes) {
    paused_ = true;
    return CURL_WRITEFUNC_PAUSE;
  }
  body_bytes_ += piece.size();
  if (body_bytes_ > request_.reply_bytes_max) {
    too_large_ = true;
    return 0;
  }
  body_ += piece;
  progress_.Notify();
  return piece.size();
}

size_t CurlCall::GiveUpload(char* data, size_t room) {
  if (upload_taken_ == upload_.size()) {
    upload_paused_ = true;
    return CURL_READFUNC_PAUSE;
  }
  const size_t given = upload_.copy(data, room, upload_taken_);
  upload_taken_ += given;
  if (upload_taken_ == upload_.size()) progress_.Notify();
  return given;
}

Status CurlCall::Write(std::string piece) {
  while (upload_taken_ < upload_.size() && !head_complete_ && !done_) {
    AG_RETURN_IF_ERROR(CheckStillWanted());
    AG_RETURN_IF_ERROR(
        WaitUntil(DeadlineAfter(request_.idle_timeout), "took nothing for", request_.idle_timeout));
  }
  if (head_complete_ || done_) return Status::Ok();
  upload_ = std::move(piece);
  upload_taken_ = 0;
  // This may call GiveUpload at once.
  if (std::exchange(upload_paused_, false)) curl_easy_pause(handle_, CURLPAUSE_CONT);
  return Status::Ok();
}

void CurlCall::OnDone(CURLcode result) {
  done_ = true;
  result_ = result;
  progress_.Notify();
}

Result<HttpHead*> CurlCall::ReadHead() {
  while (!head_complete_) {
    AG_RETURN_IF_ERROR(CheckStillWanted());
    if (done_) return Failure();
    AG_RETURN_IF_ERROR(WaitUntil(started_ + request_.first_byte_timeout, "did not answer within",
                                 request_.first_byte_timeout));
  }
  return &head_;
}

Result<std::string> CurlCall::Read() {
  for (;;) {
    AG_RETURN_IF_ERROR(CheckStillWanted());
    if (!body_.empty()) {
      std::string piece = std::exchange(body_, {});
      // This may call TakeBody at once with the data that libcurl has buffered.
      if (std::exchange(paused_, false)) curl_easy_pause(handle_, CURLPAUSE_CONT);
      return piece;
    }
    if (done_) return result_ == CURLE_OK ? Result<std::string>(std::string()) : Failure();
    AG_RETURN_IF_ERROR(
        WaitUntil(DeadlineAfter(request_.idle_timeout), "sent nothing for", request_.idle_timeout));
  }
}

Status CurlCall::Failure() const {
  if (too_large_) return TooLarge(head_complete_ ? request_.reply_bytes_max : kHeadBytesMax);
  if (resend_refused_) {
    return StatusOf(HttpFailure::kClosed).WithDetail("a kept connection was lost");
  }
  return StatusOf(FailureOf(result_))
      .WithDetail(error_text_[0] != '\0' ? error_text_ : curl_easy_strerror(result_));
}

}  // namespace agent_graph::net

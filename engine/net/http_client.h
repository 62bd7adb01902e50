// HTTP/1.1 requests from fibers: start a call, then read its reply piece by piece.
//
// Each engine thread has its own connections, kept for reuse. While the fiber does not read, the
// call buffers at most kReadAheadBytes and then leaves the rest in the socket, so that the server
// feels the pace of whoever consumes the reply.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/environment.h"
#include "base/status.h"
#include "net/proxies.h"
#include "runtime/cancellation.h"

namespace agent_graph::net {

inline constexpr size_t kReadAheadBytes = 64 * 1024;
inline constexpr size_t kHeadBytesMax = 64 * 1024;

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method = "POST";
  std::string url;  // http or https
  HttpHeaders headers;
  std::string body;
  std::optional<uint64_t> upload_bytes;  // so many are given by HttpCall::Write, in place of `body`
  // Use a new connection, which is closed afterwards, and send the request once at most. Otherwise
  // a kept connection is used if there is one; when the server drops it before the first byte of a
  // reply, whatever it has done by then, the request is sent a second time, on a new connection.
  // There is never a third time. A body of `upload_bytes` is not sent again in any case.
  bool once = false;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds first_byte_timeout{60'000};  // from the start until the head is there
  std::chrono::milliseconds idle_timeout{60'000};        // of one Read
  Deadline deadline = kNoDeadline;                       // of the whole call
  size_t reply_bytes_max = 4 * 1024 * 1024;
};

struct HttpHead {
  int status = 0;
  HttpHeaders headers;  // names in lower case

  // The first value of `name` (lower case), or empty.
  std::string_view Header(std::string_view name) const;
};

// A call in flight; belongs to the fiber that started it. Destroying it before the end of the reply
// closes the connection at once.
//
// Failures: kCancelled, kDeadlineExceeded (the deadline), kUnavailable (no connection, the
// connection was lost, a timeout), kResourceExhausted (the reply is larger than its bound),
// kInvalidArgument (a URL or certificate that cannot work: do not try again). Texts name no host;
// the detail does.
class HttpCall {
 public:
  ~HttpCall();
  HttpCall(const HttpCall&) = delete;
  HttpCall& operator=(const HttpCall&) = delete;

  // The next piece of a body of `upload_bytes`; waits until the one before it was taken. What the
  // server does not want any more, because it has answered or is gone, is dropped: ReadHead tells.
  Status Write(std::string piece);
  // Waits for status line and headers. Valid as long as the call.
  Result<const HttpHead*> ReadHead();
  // Waits for the next piece of the body; empty at its end.
  Result<std::string> Read();
  // The rest of the body, cut after `bytes_max`.
  Result<std::string> ReadRest(size_t bytes_max);
  // How often the request was sent: 0 (not connected yet), 1 or 2. Each may have cost money.
  int sends() const;
  // Ends the call at `deadline` if that is earlier than its own.
  void LimitDeadline(Deadline deadline);
  // Drops the rest of the body, waiting at most `patience`, so that the connection can be reused.
  void Drain(std::chrono::milliseconds patience);

  class Transfer;

 private:
  friend class HttpClient;
  explicit HttpCall(std::unique_ptr<Transfer> transfer);
  std::unique_ptr<Transfer> transfer_;
};

// Immutable, hence thread-safe. Proxies and the CA file (CURL_CA_BUNDLE, SSL_CERT_FILE) come from
// `environment`, never from the process's own.
class HttpClient {
 public:
  explicit HttpClient(const Environment& environment);

  // On a fiber. Returns at once; failures of the connection come with ReadHead.
  Result<std::unique_ptr<HttpCall>> Start(HttpRequest request,
                                          const runtime::Cancellation& cancellation) const;

 private:
  Proxies proxies_;
  std::string ca_file_;
};

}  // namespace agent_graph::net

// HTTP requests from fibers: start a call, then read the reply piece by piece.
//
// Each engine thread has its own connections and reuses them. Long calls to servers that offer
// HTTP/2 share connections; all others use HTTP/1.1. While the fiber does not read, the call
// buffers at most kReadAheadBytes and leaves the rest in the socket, so that backpressure reaches
// the server; over HTTP/2 the server sends no more, and the other calls of the connection do not
// wait.
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
  // If set, the body has this many bytes and is passed to HttpCall::Write; `body` is not used.
  std::optional<uint64_t> upload_bytes;
  // True: use a new connection (HTTP/1.1), close it afterwards, and send the request at most once.
  // False: reuse a kept connection if there is one. If the server drops it before the first byte of
  // a reply (it may have processed the request), the request is sent a second time on a new
  // connection, never a third time. The same is done if the server refuses a stream of HTTP/2. A
  // body of `upload_bytes` is never sent again; it uses HTTP/1.1.
  bool once = false;
  // True for calls that last long and are many, such as those of models: over https they share a
  // connection of HTTP/2 if the server offers that, and hold little memory while they wait.
  bool lasts_long = false;
  bool http2 = true;  // false: such a call uses HTTP/1.1, too
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds first_byte_timeout{60'000};  // from the start to the complete head
  std::chrono::milliseconds idle_timeout{60'000};        // limit for one Read
  Deadline deadline = kNoDeadline;                       // limit for the whole call
  size_t reply_bytes_max = 4 * 1024 * 1024;
};

struct HttpHead {
  int status = 0;
  HttpHeaders headers;  // names in lower case

  // The first value of `name` (lower case), or an empty view.
  std::string_view Header(std::string_view name) const;
};

// A call in flight. It belongs to the fiber that started it; not thread-safe. Destroying it before
// the end of the reply closes the connection at once; over HTTP/2 it ends only its own stream.
//
// Failures: kCancelled, kDeadlineExceeded (the deadline), kUnavailable (cannot connect, connection
// lost, timeout), kResourceExhausted (the reply exceeds reply_bytes_max), kInvalidArgument (a URL
// or certificate that cannot work: do not retry). Messages contain no host name; the detail does.
class HttpCall {
 public:
  ~HttpCall();
  HttpCall(const HttpCall&) = delete;
  HttpCall& operator=(const HttpCall&) = delete;

  // Sends the next piece of a body of `upload_bytes`; waits until the piece before it was sent. If
  // the server has already replied or closed the connection, the piece is dropped; ReadHead returns
  // the outcome.
  Status Write(std::string piece);
  // Waits for the status line and the headers. They are the caller's from then on, so that a call
  // that lasts long does not hold them; a later call returns only the status.
  Result<HttpHead> ReadHead();
  // Waits for the next piece of the body; returns an empty string at its end.
  Result<std::string> Read();
  // Reads the rest of the body and cuts it after `bytes_max` bytes.
  Result<std::string> ReadRest(size_t bytes_max);
  // How often the request was sent: 0 (not connected yet), 1 or 2. Each send may have caused costs.
  int sends() const;
  // Sets an earlier deadline for the call. Has no effect if its own is earlier.
  void LimitDeadline(Deadline deadline);
  // Replaces the request's own for what is read from now on.
  void SetIdleTimeout(std::chrono::milliseconds timeout);
  // Reads and drops the rest of the body, for at most `timeout`, so that the connection can be
  // reused.
  void Drain(std::chrono::milliseconds timeout);

  class Transfer;

 private:
  friend class HttpClient;
  explicit HttpCall(std::unique_ptr<Transfer> transfer);
  std::unique_ptr<Transfer> transfer_;
};

// Immutable, so it is thread-safe. The proxies and the CA file (CURL_CA_BUNDLE, SSL_CERT_FILE) come
// from `environment`, never from the environment of the process.
class HttpClient {
 public:
  explicit HttpClient(const Environment& environment);

  // Call it on a fiber. Returns at once; ReadHead reports connection failures.
  Result<std::unique_ptr<HttpCall>> Start(HttpRequest request,
                                          const runtime::Cancellation& cancellation) const;

 private:
  Proxies proxies_;
  std::string ca_file_;
};

}  // namespace agent_graph::net

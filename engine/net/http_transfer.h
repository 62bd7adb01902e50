// The interface of a call in flight, below HttpCall: one implementation for each way to reach a
// server.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "net/http_client.h"
#include "runtime/signal.h"

namespace agent_graph::net {

// The functions are those of HttpCall. An implementation notifies `progress_` whenever a waiting
// function may have something to return.
class HttpCall::Transfer {
 public:
  virtual ~Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  virtual Status Write(std::string piece) = 0;
  virtual Result<HttpHead*> ReadHead() = 0;  // valid as long as the call
  virtual Result<std::string> Read() = 0;
  virtual int sends() const = 0;
  virtual void LimitDeadline(Deadline deadline);
  virtual void SetIdleTimeout(std::chrono::milliseconds timeout);

 protected:
  // `started`: when the caller's call began; another way may have been tried before.
  Transfer(HttpRequest request, const runtime::Cancellation& cancellation, Deadline started);

  // A failure if a header could end its line and begin another one.
  Status CheckHeaders() const;
  // Ok, or the reason to end the call: it was cancelled, or its deadline passed.
  Status CheckStillWanted() const;
  // Waits for progress until `deadline`. The failure's text: "the server", `what`, `timeout`.
  Status WaitUntil(Deadline deadline, const char* what, std::chrono::milliseconds timeout);
  // The failure of a reply of more than `bytes_max` bytes.
  static Status TooLarge(size_t bytes_max);

  HttpRequest request_;
  const runtime::Cancellation cancellation_;
  const Deadline started_;
  runtime::Signal progress_;
};

}  // namespace agent_graph::net

#include "net/http_transfer.h"

#include <algorithm>
#include <utility>

#include "base/header_value.h"

namespace agent_graph::net {

HttpCall::Transfer::Transfer(HttpRequest request, const runtime::Cancellation& cancellation,
                             Deadline started)
    : request_(std::move(request)), cancellation_(cancellation), started_(started) {}

Status HttpCall::Transfer::CheckHeaders() const {
  const bool are_safe =
      std::all_of(request_.headers.begin(), request_.headers.end(), [](const auto& header) {
        return IsHeaderValue(header.first) && IsHeaderValue(header.second) &&
               header.first.find_first_of(": \t") == std::string::npos && !header.first.empty();
      });
  if (are_safe) return Status::Ok();
  return {StatusCode::kInvalidArgument, "a header of the call holds control characters"};
}

void HttpCall::Transfer::LimitDeadline(Deadline deadline) {
  request_.deadline = std::min(request_.deadline, deadline);
}

void HttpCall::Transfer::SetIdleTimeout(std::chrono::milliseconds timeout) {
  request_.idle_timeout = timeout;
}

// While data keeps arriving, waits return without noticing a cancellation or the deadline.
Status HttpCall::Transfer::CheckStillWanted() const {
  if (cancellation_.cancelled()) {
    return runtime::WakeStatus(runtime::WakeReason::kCancelled, &cancellation_);
  }
  if (request_.deadline != kNoDeadline && MonotonicClock::now() >= request_.deadline) {
    return Status(StatusCode::kDeadlineExceeded, "the deadline passed during an HTTP call");
  }
  return Status::Ok();
}

Status HttpCall::Transfer::WaitUntil(Deadline deadline, const char* what,
                                     std::chrono::milliseconds timeout) {
  const runtime::WakeReason reason =
      progress_.Wait(&cancellation_, std::min(deadline, request_.deadline));
  if (reason == runtime::WakeReason::kNotified) return Status::Ok();
  AG_RETURN_IF_ERROR(CheckStillWanted());
  return Status(StatusCode::kUnavailable,
                std::string("the server ") + what + " " + std::to_string(timeout.count()) + " ms");
}

Status HttpCall::Transfer::TooLarge(size_t bytes_max) {
  return Status(StatusCode::kResourceExhausted,
                "the server's reply is larger than " + std::to_string(bytes_max) + " bytes");
}

}  // namespace agent_graph::net

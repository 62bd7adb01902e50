// Status and Result: how every layer reports failures without exceptions.
//
// Exceptions are caught in three places only (around a user function, at the entry of an engine
// thread, in an nginx callback); all other code returns a Status. `message` is safe to show to a
// client, `detail` is for the log.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace agent_graph {

enum class StatusCode {
  kOk,
  kInvalidArgument,    // the caller's input is wrong (422)
  kUnauthenticated,    // no or bad credential (403, see src/auth)
  kPermissionDenied,   // known caller, not allowed (403)
  kNotFound,           // no such object, or not visible to this caller (404)
  kBusy,               // the conversation thread is running and its queue is full (409)
  kConflict,           // the object's state forbids the operation (409)
  kResourceExhausted,  // a limit of ours was reached; try again later (503)
  kUnavailable,        // a component did not answer (503)
  kNotConfigured,      // the component is not part of this configuration (503)
  kDeadlineExceeded,   // one of our deadlines passed
  kCancelled,          // the run was cancelled (client gone, stop, shutdown)
  kFenced,             // a write with a stale lease epoch was refused
  kRecursionLimit,     // the run needed more steps than its limit
  kGraph,              // the graph or a node failed
  kModel,              // a model provider failed
  kDataLoss,           // stored bytes cannot be read back
  kInternal,           // a bug in this program
  kBudgetExceeded,     // the run has used up its budget (402)
};

// The stable upper-case name of a code, e.g. "NOT_FOUND".
std::string_view StatusCodeName(StatusCode code);

// A value type. The texts of a failure are on the heap, so that success, which is what nearly all
// calls return, takes two words in each stack frame and no memory elsewhere.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message);
  Status(const Status& other);
  Status(Status&&) noexcept = default;
  Status& operator=(const Status& other);
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  static Status Ok() { return Status(); }

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  // Text for the client: names the field or component; contains no secret and no internal address.
  const std::string& message() const;
  // More information for the operator's log; may be empty.
  const std::string& detail() const;
  Status& WithDetail(std::string detail) &;
  Status&& WithDetail(std::string detail) && { return std::move(WithDetail(std::move(detail))); }

  // "NOT_FOUND: no such thread (detail)" for logs and tests.
  std::string ToString() const;

  friend bool operator==(const Status& a, const Status& b) {
    return a.code_ == b.code_ && a.message() == b.message();
  }

 private:
  struct Texts {
    std::string message;
    std::string detail;
  };

  StatusCode code_ = StatusCode::kOk;
  std::unique_ptr<Texts> texts_;  // null: both are empty
};

// Shortcuts for the most frequent failures.
inline Status InvalidArgument(std::string message) {
  return {StatusCode::kInvalidArgument, std::move(message)};
}
inline Status NotFound(std::string message) {
  return {StatusCode::kNotFound, std::move(message)};
}
inline Status Unavailable(std::string message) {
  return {StatusCode::kUnavailable, std::move(message)};
}
inline Status GraphFailure(std::string message) {
  return {StatusCode::kGraph, std::move(message)};
}

// Either a value or a failed Status. Accessing the value of a failure throws
// std::bad_variant_access: it is a bug in the caller.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}         // NOLINT
  Result(Status status) : state_(std::in_place_index<1>, std::move(status)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  Status status() const& { return ok() ? Status() : std::get<1>(state_); }
  Status status() && { return ok() ? Status() : std::get<1>(std::move(state_)); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace agent_graph

// Returns from the calling function when `expression` is a failed Status.
#define AG_RETURN_IF_ERROR(expression)                                                     \
  do {                                                                                     \
    if (::agent_graph::Status ag_status = (expression); !ag_status.ok()) return ag_status; \
  } while (false)

#define AG_CONCAT_INNER(a, b) a##b
#define AG_CONCAT(a, b) AG_CONCAT_INNER(a, b)
// AG_ASSIGN_OR_RETURN(auto value, F()): value on success, return the Status otherwise.
#define AG_ASSIGN_OR_RETURN(declaration, expression) \
  AG_ASSIGN_OR_RETURN_INNER(AG_CONCAT(ag_result_, __LINE__), declaration, expression)
#define AG_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                      \
  if (!result.ok()) return std::move(result).status();             \
  declaration = std::move(result).value()

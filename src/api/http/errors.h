// All errors that the service returns, in one table: HTTP status, stable code and default text. No
// other code in the service contains an error status or an error code.
//
// Client libraries select an exception class by the prefix of the code (GRAPH…, NODE…, STORAGE…),
// so only errors with status 500 have codes with these prefixes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "auth/refusal.h"
#include "base/status.h"

namespace agent_graph::api {

enum class ApiError : uint8_t {
  kBadRequest,       // not valid HTTP
  kValidation,       // valid HTTP, but a field is wrong
  kUnauthenticated,  // the credential was refused
  kNoCredential,
  kExpiredToken,
  kInvalidToken,
  kUnusableKey,       // no token can be verified
  kPermissionDenied,  // the caller is known, but not allowed to do this
  kNotFound,          // no such route or object
  kMethodNotAllowed,
  kUnsupportedMediaType,
  kRangeNotSatisfiable,
  kRequestTimeout,       // the client did not send its request in time
  kBusy,                 // the conversation thread has a run in flight
  kConflict,             // the state of the object does not allow the operation
  kStaleRun,             // another run has taken over the conversation thread
  kGone,                 // it existed, but is no longer kept
  kIdempotencyMismatch,  // the Idempotency-Key was used for another request
  kRequestTooLarge,
  kRateLimited,  // the caller's rate limit is exceeded
  kOverloaded,   // a limit of the server was reached
  kShuttingDown,
  kUnavailable,    // a component did not answer
  kNotConfigured,  // a component is not part of this configuration
  kTimeout,        // a deadline of the server passed
  kCancelled,
  kRecursionLimit,
  kBudgetExceeded,
  kGraph,
  kModel,
  kStorage,
  kInternal,
};

// A row of the error table.
struct ErrorKind {
  int status;
  std::string_view code;
  std::string_view message;     // default text
  int retry_after_seconds = 0;  // 0: no Retry-After header
};

// Returns the row of an error. Thread-safe, like all functions here.
const ErrorKind& Describe(ApiError error);

// Kinds of problems of a field.
enum class ProblemType : uint8_t {
  kValue,
  kMissing,
  kChoice,
  kTooShort,
  kTooLong,
  kOutOfRange,
  kStringType,
  kIntegerType,
  kNumberType,
  kBooleanType,
  kObjectType,
  kArrayType,
  kIntegerSyntax,
  kJsonSyntax,
  kNotReady,
};
// Returns the name on the wire, such as "value_error".
std::string_view NameOf(ProblemType type);

// One entry of `error.details`. `location` is a path such as {"body", "messages", "0", "role"}.
struct ErrorDetail {
  std::vector<std::string> location;
  std::string message;
  ProblemType type = ProblemType::kValue;
};

// An error of one request.
struct ErrorInfo {
  ApiError error = ApiError::kInternal;
  std::string message;  // empty: the default text of the kind
  std::vector<ErrorDetail> details;
  // Set by a custom authentication backend; override the values of the kind. 0 and empty: not set.
  int status = 0;
  std::string code = {};
  // Additional members of `error`.
  std::vector<std::pair<std::string_view, int64_t>> numbers = {};
  int64_t retry_after_seconds = 0;  // 0: the value of the kind
};

// HTTP status and code of an error, including values of a custom backend.
int StatusOf(const ErrorInfo& error);
std::string_view CodeOf(const ErrorInfo& error);
// Text and Retry-After in seconds of an error; 0: no such header.
std::string_view MessageOf(const ErrorInfo& error);
int64_t RetryAfterOf(const ErrorInfo& error);
// True if the response has a member `error_code`.
bool IsAuthenticationError(ApiError error);

// The worker buffers as much as limits.buffered_bytes_max allows: kOverloaded.
ErrorInfo NoRoomError();

// Convert errors of lower layers and the guard's refusals.
ApiError ErrorOf(StatusCode code);
ErrorInfo ErrorOf(const Status& status);
ErrorInfo ErrorOf(auth::Refusal refusal);

}  // namespace agent_graph::api

// Every error the service answers: its HTTP status, its stable code and its default text, in one
// table. Nothing else in the service names an error status or an error code.
//
// The client libraries choose an exception class by the prefix of the code (GRAPH…, NODE…,
// STORAGE…), so those prefixes stay with errors of status 500.
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
  kBadRequest,       // not readable as HTTP
  kValidation,       // readable, but a field is wrong
  kUnauthenticated,  // a credential was refused
  kNoCredential,
  kExpiredToken,
  kInvalidToken,
  kUnusableKey,       // nothing can be verified
  kPermissionDenied,  // known caller, not allowed
  kNotFound,          // no such route or object
  kMethodNotAllowed,
  kUnsupportedMediaType,
  kRangeNotSatisfiable,
  kRequestTimeout,  // the client did not send its request in time
  kBusy,            // the conversation thread is running
  kConflict,        // the object's condition forbids the operation
  kStaleRun,        // another run took the conversation thread over
  kRequestTooLarge,
  kRateLimited,  // the caller's share is used up
  kOverloaded,   // a bound of ours was reached
  kShuttingDown,
  kUnavailable,    // a component did not answer
  kNotConfigured,  // a component is not part of this configuration
  kTimeout,        // a deadline of ours passed
  kCancelled,
  kRecursionLimit,
  kGraph,
  kModel,
  kStorage,
  kInternal,
};

struct ErrorKind {
  int status;
  std::string_view code;
  std::string_view message;  // when nobody has a better one
  int retry_after_seconds;   // 0: no Retry-After header
};

const ErrorKind& Describe(ApiError error);

// One entry of `error.details`. `location` is a path such as {"body", "messages", "0", "role"}.
struct ErrorDetail {
  std::vector<std::string> location;
  std::string message;
  std::string type;
};

struct ErrorInfo {
  ApiError error = ApiError::kInternal;
  std::string message;  // empty: the default text of the kind
  std::vector<ErrorDetail> details;
  // What an authentication backend of the user's chose instead of the kind's own.
  int status = 0;
  std::string code = {};
  // Further members of `error`.
  std::vector<std::pair<std::string_view, int64_t>> numbers = {};
};

int StatusOf(const ErrorInfo& error);
std::string_view CodeOf(const ErrorInfo& error);
// Its answer carries `error_code`.
bool IsAuthenticationError(ApiError error);

ApiError ErrorOf(StatusCode code);
ErrorInfo ErrorOf(const Status& status);
ErrorInfo ErrorOf(auth::Refusal refusal);

}  // namespace agent_graph::api

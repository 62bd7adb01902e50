#include "api/http/errors.h"

#include <array>
#include <utility>

namespace agent_graph::api {
namespace {

ApiError ErrorOfRefusal(auth::Refusal::Kind kind) {
  using Kind = auth::Refusal::Kind;
  switch (kind) {
    case Kind::kNoCredential:
      return ApiError::kNoCredential;
    case Kind::kExpiredToken:
      return ApiError::kExpiredToken;
    case Kind::kInvalidToken:
      return ApiError::kInvalidToken;
    case Kind::kUnusableKey:
      return ApiError::kUnusableKey;
    case Kind::kAccount:
    case Kind::kHttp:
      return ApiError::kUnauthenticated;
    case Kind::kForbidden:
      return ApiError::kPermissionDenied;
    case Kind::kUnavailable:
      return ApiError::kUnavailable;
    case Kind::kInternal:
      return ApiError::kInternal;
  }
  return ApiError::kInternal;
}

struct ErrorRow {
  ApiError error;
  ErrorKind kind;
};

// One row per error, in the order of the enum.
constexpr std::array kErrors = {
    ErrorRow{ApiError::kBadRequest,
             {.status = 400, .code = "BAD_REQUEST", .message = "bad request"}},
    ErrorRow{ApiError::kValidation,
             {.status = 422, .code = "VALIDATION_ERROR", .message = "the request is not valid"}},
    ErrorRow{ApiError::kUnauthenticated,
             {.status = 403, .code = "AUTHENTICATION_FAILED", .message = "unauthorized"}},
    ErrorRow{ApiError::kNoCredential,
             {.status = 403,
              .code = "REVOKED_TOKEN",
              .message = "unauthorized: no credential was presented"}},
    ErrorRow{
        ApiError::kExpiredToken,
        {.status = 403, .code = "EXPIRED_TOKEN", .message = "unauthorized: the token has expired"}},
    ErrorRow{ApiError::kInvalidToken,
             {.status = 403,
              .code = "INVALID_TOKEN",
              .message = "unauthorized: the token is not valid"}},
    ErrorRow{ApiError::kUnusableKey,
             {.status = 403,
              .code = "JWT_SETTINGS_NOT_CONFIGURED",
              .message = "unauthorized: token verification is not configured"}},
    ErrorRow{ApiError::kPermissionDenied,
             {.status = 403, .code = "PERMISSION_ERROR", .message = "permission denied"}},
    ErrorRow{ApiError::kNotFound,
             {.status = 404, .code = "RESOURCE_NOT_FOUND", .message = "not found"}},
    ErrorRow{ApiError::kMethodNotAllowed,
             {.status = 405, .code = "METHOD_NOT_ALLOWED", .message = "method not allowed"}},
    ErrorRow{ApiError::kUnsupportedMediaType,
             {.status = 415,
              .code = "UNSUPPORTED_MEDIA_TYPE",
              .message = "the type of the file is not accepted"}},
    ErrorRow{ApiError::kRangeNotSatisfiable,
             {.status = 416,
              .code = "RANGE_NOT_SATISFIABLE",
              .message = "the range is outside of the file"}},
    ErrorRow{ApiError::kRequestTimeout,
             {.status = 408,
              .code = "REQUEST_TIMEOUT",
              .message = "the request did not arrive in time"}},
    ErrorRow{
        ApiError::kBusy,
        {.status = 409, .code = "THREAD_BUSY", .message = "the thread is busy with another run"}},
    ErrorRow{
        ApiError::kConflict,
        {.status = 409, .code = "CONFLICT", .message = "the request conflicts with its object"}},
    ErrorRow{
        ApiError::kStaleRun,
        {.status = 409, .code = "STALE_RUN", .message = "another run has taken over this thread"}},
    ErrorRow{ApiError::kGone, {.status = 410, .code = "GONE", .message = "no longer kept"}},
    ErrorRow{ApiError::kIdempotencyMismatch,
             {.status = 422,
              .code = "IDEMPOTENCY_MISMATCH",
              .message = "the Idempotency-Key was used for another request"}},
    ErrorRow{
        ApiError::kRequestTooLarge,
        {.status = 413, .code = "REQUEST_TOO_LARGE", .message = "the request body is too large"}},
    ErrorRow{ApiError::kRateLimited,
             {.status = 429, .code = "RATE_LIMIT_EXCEEDED", .message = "rate limit exceeded"}},
    ErrorRow{ApiError::kOverloaded,
             {.status = 503,
              .code = "OVERLOADED",
              .message = "the service is overloaded",
              .retry_after_seconds = 1}},
    ErrorRow{ApiError::kShuttingDown,
             {.status = 503,
              .code = "SHUTTING_DOWN",
              .message = "the service is shutting down",
              .retry_after_seconds = 1}},
    ErrorRow{ApiError::kUnavailable,
             {.status = 503,
              .code = "SERVICE_UNAVAILABLE",
              .message = "a component is temporarily unavailable",
              .retry_after_seconds = 1}},
    ErrorRow{ApiError::kNotConfigured,
             {.status = 503, .code = "NOT_CONFIGURED", .message = "not configured"}},
    ErrorRow{ApiError::kTimeout,
             {.status = 504, .code = "TIMEOUT", .message = "the request took too long"}},
    ErrorRow{ApiError::kCancelled,
             {.status = 503, .code = "CANCELLED", .message = "the run was cancelled"}},
    ErrorRow{ApiError::kRecursionLimit,
             {.status = 500,
              .code = "GRAPH_RECURSION_ERROR",
              .message = "the recursion limit was reached"}},
    ErrorRow{
        ApiError::kBudgetExceeded,
        {.status = 402, .code = "BUDGET_EXCEEDED", .message = "the run has used up its budget"}},
    ErrorRow{ApiError::kGraph,
             {.status = 500, .code = "GRAPH_ERROR", .message = "the graph failed"}},
    ErrorRow{ApiError::kModel,
             {.status = 500, .code = "MODEL_ERROR", .message = "the model provider failed"}},
    ErrorRow{ApiError::kStorage,
             {.status = 500, .code = "STORAGE_ERROR", .message = "stored data cannot be read"}},
    ErrorRow{ApiError::kInternal,
             {.status = 500, .code = "INTERNAL_SERVER_ERROR", .message = "internal server error"}},
};

constexpr bool AreInOrder() {
  for (size_t i = 0; i < kErrors.size(); ++i) {
    if (kErrors[i].error != static_cast<ApiError>(i)) return false;
  }
  return kErrors.size() == static_cast<size_t>(ApiError::kInternal) + 1;
}
static_assert(AreInOrder(), "an error has no row, or a row is in another place than in the enum");

}  // namespace

std::string_view NameOf(ProblemType type) {
  switch (type) {
    case ProblemType::kValue:
      return "value_error";
    case ProblemType::kMissing:
      return "missing";
    case ProblemType::kChoice:
      return "enum";
    case ProblemType::kTooShort:
      return "too_short";
    case ProblemType::kTooLong:
      return "too_long";
    case ProblemType::kOutOfRange:
      return "out_of_range";
    case ProblemType::kStringType:
      return "string_type";
    case ProblemType::kIntegerType:
      return "int_type";
    case ProblemType::kNumberType:
      return "float_type";
    case ProblemType::kBooleanType:
      return "bool_type";
    case ProblemType::kObjectType:
      return "object_type";
    case ProblemType::kArrayType:
      return "list_type";
    case ProblemType::kIntegerSyntax:
      return "int_parsing";
    case ProblemType::kJsonSyntax:
      return "json_invalid";
    case ProblemType::kNotReady:
      return "not_ready";
  }
  return "";
}

const ErrorKind& Describe(ApiError error) {
  return kErrors[static_cast<size_t>(error)].kind;
}

ErrorInfo NoRoomError() {
  return {ApiError::kOverloaded, "this worker buffers as much as it may", {}};
}

ApiError ErrorOf(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
      return ApiError::kValidation;
    case StatusCode::kUnauthenticated:
      return ApiError::kUnauthenticated;
    case StatusCode::kPermissionDenied:
      return ApiError::kPermissionDenied;
    case StatusCode::kNotFound:
      return ApiError::kNotFound;
    case StatusCode::kBusy:
      return ApiError::kBusy;
    case StatusCode::kConflict:
      return ApiError::kConflict;
    case StatusCode::kResourceExhausted:
      return ApiError::kOverloaded;
    case StatusCode::kUnavailable:
      return ApiError::kUnavailable;
    case StatusCode::kNotConfigured:
      return ApiError::kNotConfigured;
    case StatusCode::kDeadlineExceeded:
      return ApiError::kTimeout;
    case StatusCode::kCancelled:
      return ApiError::kCancelled;
    case StatusCode::kFenced:
      return ApiError::kStaleRun;
    case StatusCode::kRecursionLimit:
      return ApiError::kRecursionLimit;
    case StatusCode::kGraph:
      return ApiError::kGraph;
    case StatusCode::kModel:
      return ApiError::kModel;
    case StatusCode::kDataLoss:
      return ApiError::kStorage;
    case StatusCode::kBudgetExceeded:
      return ApiError::kBudgetExceeded;
    case StatusCode::kOk:
    case StatusCode::kInternal:
      return ApiError::kInternal;
  }
  return ApiError::kInternal;
}

ErrorInfo ErrorOf(const Status& status) {
  return {ErrorOf(status.code()), status.message(), {}};
}

ErrorInfo ErrorOf(auth::Refusal refusal) {
  return {ErrorOfRefusal(refusal.kind),
          std::move(refusal.message),
          {},
          refusal.status,
          std::move(refusal.code)};
}

int StatusOf(const ErrorInfo& error) {
  return error.status != 0 ? error.status : Describe(error.error).status;
}

std::string_view CodeOf(const ErrorInfo& error) {
  return error.code.empty() ? Describe(error.error).code : error.code;
}

std::string_view MessageOf(const ErrorInfo& error) {
  return error.message.empty() ? Describe(error.error).message : error.message;
}

int64_t RetryAfterOf(const ErrorInfo& error) {
  return error.retry_after_seconds != 0 ? error.retry_after_seconds
                                        : Describe(error.error).retry_after_seconds;
}

bool IsAuthenticationError(ApiError error) {
  switch (error) {
    case ApiError::kUnauthenticated:
    case ApiError::kNoCredential:
    case ApiError::kExpiredToken:
    case ApiError::kInvalidToken:
    case ApiError::kUnusableKey:
      return true;
    default:
      return false;
  }
}

}  // namespace agent_graph::api

#include "api/errors.h"

#include <utility>

namespace agent_graph::api {
namespace {

ApiError ErrorOf(auth::Refusal::Kind kind) {
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

}  // namespace

const ErrorKind& Describe(ApiError error) {
  static constexpr ErrorKind kBadRequest{400, "BAD_REQUEST", "bad request", 0};
  static constexpr ErrorKind kValidation{422, "VALIDATION_ERROR", "the request is not valid", 0};
  static constexpr ErrorKind kUnauthenticated{403, "AUTHENTICATION_FAILED", "unauthorized", 0};
  static constexpr ErrorKind kNoCredential{403, "REVOKED_TOKEN",
                                           "unauthorized: no credential was presented", 0};
  static constexpr ErrorKind kExpiredToken{403, "EXPIRED_TOKEN",
                                           "unauthorized: the token has expired", 0};
  static constexpr ErrorKind kInvalidToken{403, "INVALID_TOKEN",
                                           "unauthorized: the token is not valid", 0};
  static constexpr ErrorKind kUnusableKey{403, "JWT_SETTINGS_NOT_CONFIGURED",
                                          "unauthorized: token verification is not configured", 0};
  static constexpr ErrorKind kPermissionDenied{403, "PERMISSION_ERROR", "permission denied", 0};
  static constexpr ErrorKind kNotFound{404, "RESOURCE_NOT_FOUND", "not found", 0};
  static constexpr ErrorKind kMethodNotAllowed{405, "METHOD_NOT_ALLOWED", "method not allowed", 0};
  static constexpr ErrorKind kRequestTimeout{408, "REQUEST_TIMEOUT",
                                             "the request did not arrive in time", 0};
  static constexpr ErrorKind kBusy{409, "THREAD_BUSY", "the thread is busy with another run", 0};
  static constexpr ErrorKind kConflict{409, "CONFLICT", "the request conflicts with its object", 0};
  static constexpr ErrorKind kStaleRun{409, "STALE_RUN", "another run has taken over this thread",
                                       0};
  static constexpr ErrorKind kRequestTooLarge{413, "REQUEST_TOO_LARGE",
                                              "the request body is too large", 0};
  static constexpr ErrorKind kUnsupportedMediaType{415, "UNSUPPORTED_MEDIA_TYPE",
                                                   "the type of the file is not accepted", 0};
  static constexpr ErrorKind kRangeNotSatisfiable{416, "RANGE_NOT_SATISFIABLE",
                                                  "the range is outside of the file", 0};
  static constexpr ErrorKind kRateLimited{429, "RATE_LIMIT_EXCEEDED", "rate limit exceeded", 0};
  static constexpr ErrorKind kOverloaded{503, "OVERLOADED", "the service is overloaded", 1};
  static constexpr ErrorKind kShuttingDown{503, "SHUTTING_DOWN", "the service is shutting down", 1};
  static constexpr ErrorKind kUnavailable{503, "SERVICE_UNAVAILABLE",
                                          "a component is temporarily unavailable", 1};
  static constexpr ErrorKind kNotConfigured{503, "NOT_CONFIGURED", "not configured", 0};
  static constexpr ErrorKind kTimeout{504, "TIMEOUT", "the request took too long", 0};
  static constexpr ErrorKind kCancelled{503, "CANCELLED", "the run was cancelled", 0};
  static constexpr ErrorKind kRecursionLimit{500, "GRAPH_RECURSION_ERROR",
                                             "the recursion limit was reached", 0};
  static constexpr ErrorKind kGraph{500, "GRAPH_ERROR", "the graph failed", 0};
  static constexpr ErrorKind kModel{500, "MODEL_ERROR", "the model provider failed", 0};
  static constexpr ErrorKind kStorage{500, "STORAGE_ERROR", "stored data cannot be read", 0};
  static constexpr ErrorKind kInternal{500, "INTERNAL_SERVER_ERROR", "internal server error", 0};

  switch (error) {
    case ApiError::kBadRequest:
      return kBadRequest;
    case ApiError::kValidation:
      return kValidation;
    case ApiError::kUnauthenticated:
      return kUnauthenticated;
    case ApiError::kNoCredential:
      return kNoCredential;
    case ApiError::kExpiredToken:
      return kExpiredToken;
    case ApiError::kInvalidToken:
      return kInvalidToken;
    case ApiError::kUnusableKey:
      return kUnusableKey;
    case ApiError::kPermissionDenied:
      return kPermissionDenied;
    case ApiError::kNotFound:
      return kNotFound;
    case ApiError::kMethodNotAllowed:
      return kMethodNotAllowed;
    case ApiError::kUnsupportedMediaType:
      return kUnsupportedMediaType;
    case ApiError::kRangeNotSatisfiable:
      return kRangeNotSatisfiable;
    case ApiError::kRequestTimeout:
      return kRequestTimeout;
    case ApiError::kBusy:
      return kBusy;
    case ApiError::kConflict:
      return kConflict;
    case ApiError::kStaleRun:
      return kStaleRun;
    case ApiError::kRequestTooLarge:
      return kRequestTooLarge;
    case ApiError::kRateLimited:
      return kRateLimited;
    case ApiError::kOverloaded:
      return kOverloaded;
    case ApiError::kShuttingDown:
      return kShuttingDown;
    case ApiError::kUnavailable:
      return kUnavailable;
    case ApiError::kNotConfigured:
      return kNotConfigured;
    case ApiError::kTimeout:
      return kTimeout;
    case ApiError::kCancelled:
      return kCancelled;
    case ApiError::kRecursionLimit:
      return kRecursionLimit;
    case ApiError::kGraph:
      return kGraph;
    case ApiError::kModel:
      return kModel;
    case ApiError::kStorage:
      return kStorage;
    case ApiError::kInternal:
      return kInternal;
  }
  return kInternal;
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
  return {ErrorOf(refusal.kind),
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

#include "base/status.h"

namespace agent_graph {

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "OK";
    case StatusCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case StatusCode::kUnauthenticated:
      return "UNAUTHENTICATED";
    case StatusCode::kPermissionDenied:
      return "PERMISSION_DENIED";
    case StatusCode::kNotFound:
      return "NOT_FOUND";
    case StatusCode::kBusy:
      return "BUSY";
    case StatusCode::kConflict:
      return "CONFLICT";
    case StatusCode::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case StatusCode::kUnavailable:
      return "UNAVAILABLE";
    case StatusCode::kNotConfigured:
      return "NOT_CONFIGURED";
    case StatusCode::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case StatusCode::kCancelled:
      return "CANCELLED";
    case StatusCode::kFenced:
      return "FENCED";
    case StatusCode::kRecursionLimit:
      return "RECURSION_LIMIT";
    case StatusCode::kGraph:
      return "GRAPH";
    case StatusCode::kModel:
      return "MODEL";
    case StatusCode::kDataLoss:
      return "DATA_LOSS";
    case StatusCode::kInternal:
      return "INTERNAL";
    case StatusCode::kBudgetExceeded:
      return "BUDGET_EXCEEDED";
  }
  return "UNKNOWN";
}

std::string Status::ToString() const {
  std::string text(StatusCodeName(code_));
  if (!message_.empty()) text += ": " + message_;
  if (!detail_.empty()) text += " (" + detail_ + ")";
  return text;
}

}  // namespace agent_graph

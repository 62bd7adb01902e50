#include "base/status.h"

namespace agent_graph {
namespace {

const std::string& NoText() {
  static const std::string text;
  return text;
}

}  // namespace

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

Status::Status(StatusCode code, std::string message) : code_(code) {
  if (!message.empty()) texts_ = std::make_unique<Texts>(Texts{std::move(message), {}});
}

Status::Status(const Status& other) : code_(other.code_) {
  if (other.texts_ != nullptr) texts_ = std::make_unique<Texts>(*other.texts_);
}

Status& Status::operator=(const Status& other) {
  if (this != &other) *this = Status(other);
  return *this;
}

const std::string& Status::message() const {
  return texts_ == nullptr ? NoText() : texts_->message;
}

const std::string& Status::detail() const {
  return texts_ == nullptr ? NoText() : texts_->detail;
}

Status& Status::WithDetail(std::string detail) & {
  if (texts_ == nullptr) texts_ = std::make_unique<Texts>();
  texts_->detail = std::move(detail);
  return *this;
}

std::string Status::ToString() const {
  std::string text(StatusCodeName(code_));
  if (!message().empty()) text += ": " + message();
  if (!detail().empty()) text += " (" + detail() + ")";
  return text;
}

}  // namespace agent_graph

#include "api/http/validation.h"

#include <algorithm>

#include "agent_graph/json.h"
#include "base/text.h"
#include "base/utf8.h"

namespace agent_graph::api {
namespace {

std::string Join(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& part : path) {
    if (!text.empty()) text += '.';
    text += part;
  }
  return text;
}

// True for digits with an optional sign whose value is below 1.
bool IsIntegerBelowOne(std::string_view text) {
  bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) {
    return false;
  }
  return negative || text.find_first_not_of('0') == std::string_view::npos;
}

}  // namespace

void Problems::Add(std::vector<std::string> location, std::string message, ProblemType type) {
  if (details_.size() >= kDetailsMax) return;
  details_.push_back({std::move(location), std::move(message), type});
}

ErrorInfo Problems::Error() && {
  ErrorInfo error;
  error.error = ApiError::kValidation;
  for (const ErrorDetail& detail : details_) {
    if (!error.message.empty()) error.message += "; ";
    error.message += Join(detail.location) + ": " + detail.message;
  }
  error.details = std::move(details_);
  return error;
}

std::optional<std::string> LabelProblem(std::string_view label) {
  if (IsBlank(label)) return "must not be empty";
  if (label.size() > kIdBytesMax) {
    return "must have at most " + std::to_string(kIdBytesMax) + " bytes";
  }
  if (label.find('\0') != std::string_view::npos) return "must not contain a NUL character";
  if (!IsUtf8(label)) return "must be UTF-8";
  return std::nullopt;
}

std::optional<std::string> MessageIdProblem(std::string_view message_id) {
  if (std::optional<std::string> problem = LabelProblem(message_id)) return problem;
  if (HasDotComponent(message_id)) {
    return "must not contain \".\" or \"..\" as a path component";
  }
  return std::nullopt;
}

std::optional<std::string> ThreadIdProblem(std::string_view thread_id) {
  if (std::optional<std::string> problem = MessageIdProblem(thread_id)) return problem;
  if (IsIntegerBelowOne(thread_id)) return "an integer must be at least 1";
  return std::nullopt;
}

const json* FindMember(const json& object, std::string_view key) {
  auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

}  // namespace agent_graph::api

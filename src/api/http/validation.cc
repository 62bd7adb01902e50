#include "api/http/validation.h"

#include <algorithm>
#include <cmath>

#include "agent_graph/json.h"
#include "base/text.h"

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

std::string JoinNames(std::span<const std::string_view> names) {
  std::string text;
  for (std::string_view name : names) {
    if (!text.empty()) text += ", ";
    text += name;
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

void Problems::Add(std::vector<std::string> location, std::string message, std::string type) {
  if (details_.size() >= kDetailsMax) return;
  details_.push_back({std::move(location), std::move(message), std::move(type)});
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

bool IsValidUtf8(std::string_view text) {
  // Lets the JSON library check the text: it refuses wrong lengths, overlong forms and surrogates.
  bool ascii =
      std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) return true;
  std::string literal = "\"";
  for (char c : text) literal.push_back(static_cast<unsigned char>(c) >= 0x80 ? c : 'x');
  return json::accept(literal + "\"");
}

std::optional<std::string> LabelProblem(std::string_view label) {
  if (IsBlank(label)) return "must not be empty";
  if (label.size() > kIdBytesMax) {
    return "must have at most " + std::to_string(kIdBytesMax) + " bytes";
  }
  if (label.find('\0') != std::string_view::npos) return "must not hold a NUL character";
  if (!IsValidUtf8(label)) return "must be UTF-8";
  return std::nullopt;
}

std::optional<std::string> MessageIdProblem(std::string_view message_id) {
  if (std::optional<std::string> problem = LabelProblem(message_id)) return problem;
  if (HasDotComponent(message_id)) {
    return "must not be \".\" or \"..\", nor have such a part between slashes: no path can name it";
  }
  return std::nullopt;
}

std::optional<std::string> ThreadIdProblem(std::string_view thread_id) {
  if (std::optional<std::string> problem = MessageIdProblem(thread_id)) return problem;
  if (IsIntegerBelowOne(thread_id)) return "an integer must be at least 1";
  return std::nullopt;
}

const json* FindMember(const json& object, const std::string& key) {
  auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

int64_t ReadInteger(const json& body, const std::string& key, int64_t fallback, int64_t minimum,
                    int64_t maximum, Problems& problems) {
  const json* member = FindMember(body, key);
  if (member == nullptr) return fallback;
  // Some clients write integers as 25.0. The bounds are small, so a double represents them exactly.
  double number = member->is_number() ? member->get<double>() : NAN;
  if (std::isnan(number) || number != std::floor(number)) {
    problems.Add({"body", key}, "must be an integer", "int_type");
    return fallback;
  }
  if (number < static_cast<double>(minimum) || number > static_cast<double>(maximum)) {
    problems.Add({"body", key},
                 "must be from " + std::to_string(minimum) + " to " + std::to_string(maximum),
                 "out_of_range");
    return fallback;
  }
  return static_cast<int64_t>(number);
}

size_t ReadChoice(const json& body, const std::string& key, std::span<const std::string_view> names,
                  size_t fallback, Problems& problems) {
  const json* member = FindMember(body, key);
  if (member == nullptr) return fallback;
  if (member->is_string()) {
    auto found = std::ranges::find(names, member->get_ref<const std::string&>());
    if (found != names.end()) return static_cast<size_t>(found - names.begin());
  }
  problems.Add({"body", key}, "must be one of " + JoinNames(names), "enum");
  return fallback;
}

const json* ReadObject(const json& body, const std::string& key, Problems& problems) {
  const json* member = FindMember(body, key);
  if (member == nullptr || member->is_object()) return member;
  problems.Add({"body", key}, "must be an object", "object_type");
  return nullptr;
}

}  // namespace agent_graph::api

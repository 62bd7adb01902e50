#include "api/validation.h"

#include <algorithm>
#include <cmath>

#include "agent_graph/json.h"
#include "api/inline_files.h"
#include "api/media_urls.h"
#include "base/text.h"
#include "message/codec.h"

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

// "messages.0.role: must be …", as the codec says it, relative to `path`.
void AddCodecProblem(const std::vector<std::string>& path, size_t index, const Status& status,
                     Problems& problems) {
  std::vector<std::string> location = path;
  std::string text = status.message();
  std::string prefix = path.back() + "." + std::to_string(index);
  location.push_back(std::to_string(index));
  if (text.starts_with(prefix)) {
    size_t end = text.find(": ");
    std::string_view rest(text);
    rest = rest.substr(0, end).substr(prefix.size());
    while (rest.starts_with('.')) {
      rest.remove_prefix(1);
      size_t dot = rest.find('.');
      location.emplace_back(rest.substr(0, dot));
      rest.remove_prefix(std::min(dot, rest.size()));
    }
    if (end != std::string::npos) text = text.substr(end + 2);
  }
  problems.Add(std::move(location), std::move(text), "value_error");
}

void CheckMessageId(const std::string& id, const std::vector<std::string>& path, size_t index,
                    Problems& problems) {
  std::optional<std::string> problem = id.empty() ? std::nullopt : MessageIdProblem(id);
  if (!problem) return;
  std::vector<std::string> location = path;
  location.insert(location.end(), {std::to_string(index), "message_id"});
  problems.Add(std::move(location), *std::move(problem), "value_error");
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

void AddTooLarge(const std::vector<std::string>& path, size_t index, size_t message_bytes_max,
                 Problems& problems) {
  std::vector<std::string> location = path;
  location.push_back(std::to_string(index));
  problems.Add(std::move(location),
               "must have at most " + std::to_string(message_bytes_max) + " bytes", "too_long");
}

void CheckMessageSize(const Message& message, const std::vector<std::string>& path, size_t index,
                      size_t message_bytes_max, Problems& problems) {
  if (message::ToJsonText(message).size() - InlineBytes(message) > message_bytes_max) {
    AddTooLarge(path, index, message_bytes_max, problems);
  }
}

std::vector<Message> ReadMessageArray(const json& array, const std::vector<std::string>& path,
                                      const MessageLimits& limits, Problems& problems) {
  std::vector<Message> messages;
  if (!array.is_array()) {
    problems.Add(path, "must be an array", "list_type");
    return messages;
  }
  messages.reserve(array.size());
  for (size_t i = 0; i < array.size(); ++i) {
    Result<Message> message = message::FromJson(array[i], path.back() + "." + std::to_string(i));
    if (!message.ok()) {
      AddCodecProblem(path, i, message.status(), problems);
      continue;
    }
    if (const json* content = FindMember(array[i], "content")) {
      std::vector<std::string> location = path;
      location.insert(location.end(), {std::to_string(i), "content"});
      CheckMediaUrls(*content, location, limits.media_urls, problems);
    }
    if (IsBlank(message->id)) message->id.clear();  // as if it had none
    CheckMessageId(message->id, path, i, problems);
    if (limits.body_bytes > limits.message_bytes_max) {
      CheckMessageSize(*message, path, i, limits.message_bytes_max, problems);
    }
    messages.push_back(*std::move(message));
  }
  return messages;
}

std::vector<Message> ReadMessages(const json& body, const std::string& key,
                                  const MessageLimits& limits, Problems& problems) {
  const json* member = FindMember(body, key);
  if (member == nullptr) {
    problems.Add({"body", key}, "is required", "missing");
    return {};
  }
  if (member->is_array() && member->empty()) {
    problems.Add({"body", key}, "must hold at least one message", "too_short");
    return {};
  }
  return ReadMessageArray(*member, {"body", key}, limits, problems);
}

}  // namespace agent_graph::api

#include "api/resources/message_input.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>

#include "agent_graph/json.h"
#include "api/resources/media_urls.h"
#include "base/text.h"
#include "message/codec.h"
#include "models/media.h"

namespace agent_graph::api {
namespace {

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
  problems.Add(std::move(location), std::move(text), ProblemType::kValue);
}

void CheckMessageId(const std::string& id, const std::vector<std::string>& path, size_t index,
                    Problems& problems) {
  std::optional<std::string> problem = id.empty() ? std::nullopt : MessageIdProblem(id);
  if (!problem) return;
  std::vector<std::string> location = path;
  location.insert(location.end(), {std::to_string(index), "message_id"});
  problems.Add(std::move(location), *std::move(problem), ProblemType::kValue);
}

}  // namespace

MessageLimits MessageLimitsOf(const HandlerContext& context) {
  const settings::Settings& settings = *context.api().settings;
  return {settings.media.urls, context.body_bytes(), settings.limits.message_bytes_max};
}

size_t InlineBytes(const Message& message) {
  size_t bytes = 0;
  for (const ContentBlock& block : message.content) {
    const auto* media = std::get_if<MediaBlock>(&block);
    if (media == nullptr) continue;
    if (auto data = models::InlineDataOf(*media)) bytes += data->base64.size();
  }
  return bytes;
}

void AddTooLarge(const std::vector<std::string>& path, size_t index, size_t message_bytes_max,
                 Problems& problems) {
  std::vector<std::string> location = path;
  location.push_back(std::to_string(index));
  problems.Add(std::move(location),
               "must have at most " + std::to_string(message_bytes_max) + " bytes",
               ProblemType::kTooLong);
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
    problems.Add(path, "must be an array", ProblemType::kArrayType);
    return messages;
  }
  messages.reserve(array.size());
  std::unordered_set<std::string> ids;
  for (size_t i = 0; i < array.size(); ++i) {
    Result<Message> message = message::FromJson(array[i], path.back() + "." + std::to_string(i));
    if (!message.ok()) {
      AddCodecProblem(path, i, message.status(), problems);
      continue;
    }
    const json* content = FindMember(array[i], "content");
    if (content != nullptr && !content->is_string()) {
      std::vector<std::string> location = path;
      location.insert(location.end(), {std::to_string(i), "content"});
      CheckMediaUrls(*content, location, limits.media_urls, problems);
    }
    if (IsBlank(message->id)) message->id.clear();  // as if it had none
    CheckMessageId(message->id, path, i, problems);
    // One of two messages with the same id would get another id, and a repetition of the request
    // would not be recognised.
    if (!message->id.empty() && !ids.insert(message->id).second) {
      std::vector<std::string> location = path;
      location.insert(location.end(), {std::to_string(i), "message_id"});
      problems.Add(std::move(location), "is the id of another message of this request",
                   ProblemType::kValue);
    }
    if (limits.may_be_exceeded()) {
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
    problems.Add({"body", key}, "is required", ProblemType::kMissing);
    return {};
  }
  if (member->is_array() && member->empty()) {
    problems.Add({"body", key}, "must contain at least one message", ProblemType::kTooShort);
    return {};
  }
  return ReadMessageArray(*member, {"body", key}, limits, problems);
}

}  // namespace agent_graph::api

#include "message/codec.h"

#include <string>
#include <string_view>
#include <unordered_set>
#include <variant>

#include "agent_graph/json.h"
#include "base/own_json.h"
#include "message/reader.h"

namespace agent_graph::message {
namespace {

constexpr size_t kIdBytesMax = 1024;
// Unix seconds are smaller than this until the year 5138; a larger value means milliseconds.
constexpr double kSecondsMax = 1e11;

Result<std::string> ReadId(const json& object, const std::string& location, ReadMode mode) {
  const json* value = FindMember(object, "message_id");
  if (value == nullptr) return std::string();
  std::string id;
  if (value->is_string()) {
    id = value->get<std::string>();
  } else if (value->is_number_integer()) {
    id = value->dump();
  } else {
    return InvalidField(MemberLocation(location, "message_id"), "must be a string or an integer");
  }
  if (id.size() > kIdBytesMax) {
    return InvalidField(MemberLocation(location, "message_id"), "must be at most 1024 bytes");
  }
  // Clients of the service's own routes send "0" for a message that has no id yet. Clients of other
  // protocols may count their messages from 0.
  if (id == "0" && mode == ReadMode::kStrict) id.clear();
  return id;
}

Result<Role> ReadRole(const json& object, const std::string& location) {
  const json* value = FindMember(object, "role");
  if (value == nullptr) return InvalidField(MemberLocation(location, "role"), "is required");
  if (value->is_string()) {
    if (auto role = ParseRole(value->get_ref<const std::string&>())) return *role;
  }
  return InvalidField(MemberLocation(location, "role"),
                      "must be one of user, assistant, system, tool");
}

Status ReadContent(const json& object, const std::string& location, ReadMode mode,
                   Message& message) {
  std::string content_location = MemberLocation(location, "content");
  const json* value = FindMember(object, "content");
  if (value == nullptr) {
    // In OpenAI's shape a message that only calls tools has no content.
    const json* calls = FindMember(object, "tools_calls");
    if (calls != nullptr && calls->is_array() && !calls->empty()) return Status::Ok();
    return InvalidField(content_location, "is required");
  }
  if (value->is_string()) {
    message.content.emplace_back(TextBlock{.text = value->get<std::string>()});
    return Status::Ok();
  }
  if (!value->is_array()) {
    return InvalidField(content_location, "must be a string or an array of content blocks");
  }
  for (size_t i = 0; i < value->size(); ++i) {
    AG_ASSIGN_OR_RETURN(
        ContentBlock block,
        ReadBlock((*value)[i], MemberLocation(content_location, std::to_string(i)), mode));
    message.content.push_back(std::move(block));
  }
  return Status::Ok();
}

// One call in the shape of OpenAI's API, where arguments are JSON text.
Result<ToolCallBlock> ReadToolCall(const json& value, const std::string& location) {
  if (!value.is_object()) return InvalidField(location, "must be an object");
  ToolCallBlock call;
  AG_ASSIGN_OR_RETURN(call.id, OptionalText(value, "id", location));
  if (call.id.empty()) return InvalidField(MemberLocation(location, "id"), "must not be empty");
  std::string function_location = MemberLocation(location, "function");
  const json* function = FindMember(value, "function");
  if (function == nullptr || !function->is_object()) {
    return InvalidField(function_location, "must be an object");
  }
  AG_ASSIGN_OR_RETURN(call.name, OptionalText(*function, "name", function_location));
  if (call.name.empty()) {
    return InvalidField(MemberLocation(function_location, "name"), "must not be empty");
  }
  const json* arguments = FindMember(*function, "arguments");
  if (arguments == nullptr) return call;
  json parsed = *arguments;
  if (arguments->is_string()) {
    const auto& text = arguments->get_ref<const std::string&>();
    auto result = ParseJson(text.empty() ? "{}" : text);
    parsed = result.ok() ? std::move(*result) : json();
  }
  if (!parsed.is_object()) {
    return InvalidField(MemberLocation(function_location, "arguments"),
                        "must be the text of a JSON object");
  }
  call.arguments_json = DumpJson(parsed);
  return call;
}

// A result is matched to its call by the id alone.
Status CheckCallIds(const std::string& location, const Message& message) {
  std::unordered_set<std::string_view> known;
  for (size_t i = 0; i < message.content.size(); ++i) {
    const auto* call = std::get_if<ToolCallBlock>(&message.content[i]);
    if (call == nullptr || known.insert(call->id).second) continue;
    const std::string block = MemberLocation(location, "content") + "." + std::to_string(i);
    return InvalidField(MemberLocation(block, "id"), "is the id of another call of this message");
  }
  return Status::Ok();
}

// Adds a block for each call that is not already a content block.
Status ReadToolCalls(const json& object, const std::string& location, Message& message) {
  const json* value = FindMember(object, "tools_calls");
  if (value == nullptr) return Status::Ok();
  std::string calls_location = MemberLocation(location, "tools_calls");
  if (!value->is_array()) return InvalidField(calls_location, "must be an array");
  std::unordered_set<std::string> known;
  for (const ToolCallBlock* call : message.ToolCalls()) known.insert(call->id);
  for (size_t i = 0; i < value->size(); ++i) {
    AG_ASSIGN_OR_RETURN(
        ToolCallBlock call,
        ReadToolCall((*value)[i], MemberLocation(calls_location, std::to_string(i))));
    if (known.insert(call.id).second) message.content.emplace_back(std::move(call));
  }
  return Status::Ok();
}

// Clients send back what they have read: `reasoning` that only repeats the blocks is theirs.
Status ReadReasoning(const json& object, const std::string& location, Message& message) {
  AG_ASSIGN_OR_RETURN(message.reasoning, OptionalText(object, "reasoning", location));
  if (message.reasoning == ReasoningOfBlocks(message)) message.reasoning.clear();
  return Status::Ok();
}

Status ReadTimestamp(const json& object, const std::string& location, Message& message) {
  const json* value = FindMember(object, "timestamp");
  if (value == nullptr) return Status::Ok();
  if (!value->is_number() || value->get<double>() < 0) {
    return InvalidField(MemberLocation(location, "timestamp"), "must be Unix seconds");
  }
  message.timestamp = value->get<double>();
  if (message.timestamp > kSecondsMax) message.timestamp /= 1000;
  return Status::Ok();
}

Status ReadUsage(const json& object, const std::string& location, Message& message) {
  const json* value = FindMember(object, "usages");
  if (value == nullptr) return Status::Ok();
  std::string usage_location = MemberLocation(location, "usages");
  if (!value->is_object()) return InvalidField(usage_location, "must be an object");
  Usage usage;
  const std::pair<const char*, int64_t*> members[] = {
      {"prompt_tokens", &usage.prompt_tokens},
      {"completion_tokens", &usage.completion_tokens},
      {"total_tokens", &usage.total_tokens},
      {"reasoning_tokens", &usage.reasoning_tokens},
      {"cache_creation_input_tokens", &usage.cache_creation_input_tokens},
      {"cache_read_input_tokens", &usage.cache_read_input_tokens}};
  for (const auto& [name, tokens] : members) {
    AG_ASSIGN_OR_RETURN(auto count, OptionalInteger(*value, name, usage_location));
    if (count) *tokens = *count;
  }
  message.usage = usage;
  return Status::Ok();
}

Result<Message> Read(const json& value, const std::string& location, ReadMode mode) {
  if (!value.is_object()) {
    return InvalidField(location.empty() ? "message" : location, "must be an object");
  }
  Message message;
  AG_ASSIGN_OR_RETURN(message.id, ReadId(value, location, mode));
  AG_ASSIGN_OR_RETURN(message.role, ReadRole(value, location));
  AG_RETURN_IF_ERROR(ReadContent(value, location, mode, message));
  AG_RETURN_IF_ERROR(ReadTimestamp(value, location, message));
  AG_RETURN_IF_ERROR(ReadUsage(value, location, message));
  if (const json* metadata = FindMember(value, "metadata")) {
    if (!metadata->is_object()) {
      return InvalidField(MemberLocation(location, "metadata"), "must be an object");
    }
    if (!metadata->empty()) message.metadata_json = DumpJson(*metadata);
  }
  AG_RETURN_IF_ERROR(ReadReasoning(value, location, message));
  if (mode == ReadMode::kStored) return message;  // the blocks hold all calls
  AG_RETURN_IF_ERROR(CheckCallIds(location, message));
  AG_RETURN_IF_ERROR(ReadToolCalls(value, location, message));
  return message;
}

Status NotStoredText(const Status& cause) {
  return Status(StatusCode::kDataLoss, "a stored message cannot be read")
      .WithDetail(cause.message());
}

}  // namespace

std::string ReasoningOfBlocks(const Message& message) {
  std::string text;
  for (const ContentBlock& block : message.content) {
    if (const auto* reasoning = std::get_if<ReasoningBlock>(&block)) text += reasoning->summary;
  }
  return text;
}

Result<Message> FromJson(const json& value, const std::string& location) {
  return Read(value, location, ReadMode::kStrict);
}

Result<Message> FromJsonText(std::string_view text) {
  auto value = ParseJson(text, kOwnJsonLimits);
  if (!value.ok()) return NotStoredText(value.status());
  auto message = Read(*value, "", ReadMode::kStored);
  if (!message.ok()) return NotStoredText(message.status());
  return message;
}

std::string SearchText(std::string_view stored_message) {
  auto message = FromJsonText(stored_message);
  std::string text;
  if (!message.ok()) return text;
  auto append = [&text](std::string_view piece) {
    if (!text.empty()) text += '\n';
    text += piece;
  };
  for (const ContentBlock& block : message->content) {
    if (const auto* words = std::get_if<TextBlock>(&block)) append(words->text);
    if (const auto* result = std::get_if<ToolResultBlock>(&block)) {
      auto output = ParseJson(result->output_json);
      bool is_text = output.ok() && output->is_string();
      append(is_text ? output->get_ref<const std::string&>() : result->output_json);
    }
  }
  return text;
}

}  // namespace agent_graph::message

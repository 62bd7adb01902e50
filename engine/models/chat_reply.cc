#include "models/chat_reply.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "models/json_fields.h"

namespace agent_graph::models {
namespace {

// Appends a text that is a string or an array of text parts.
void AppendText(std::string& out, const JsonNode& message, std::string_view key) {
  const JsonNode* value = FindMember(message, key);
  if (value == nullptr) return;
  if (value->is_string()) out += value->text;
  if (!value->is_array()) return;
  for (const JsonNode& part : JsonItems(*value)) {
    if (part.is_object()) out += StringAt(part, "text");
  }
}

Usage ReadChatUsage(const JsonNode& object) {
  Usage usage;
  usage.prompt_tokens = CountAt(&object, "prompt_tokens");
  usage.completion_tokens = CountAt(&object, "completion_tokens");
  usage.total_tokens = CountAt(&object, "total_tokens");
  if (usage.total_tokens == 0) usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
  usage.reasoning_tokens =
      CountAt(ObjectAt(object, "completion_tokens_details"), "reasoning_tokens");
  usage.cache_read_input_tokens =
      CountAt(ObjectAt(object, "prompt_tokens_details"), "cached_tokens");
  if (usage.cache_read_input_tokens == 0) {
    usage.cache_read_input_tokens = CountAt(&object, "prompt_cache_hit_tokens");
  }
  return usage;
}

const JsonNode* FirstChoice(const JsonNode& chunk) {
  const JsonNode* choices = ArrayAt(chunk, "choices");
  if (choices == nullptr) return nullptr;
  for (const JsonNode& choice : JsonItems(*choices)) {
    if (choice.is_object() && IntegerAt(choice, "index").value_or(0) == 0) return &choice;
  }
  return nullptr;
}

}  // namespace

Status ChatReplyBuilder::Take(const JsonNode& chunk, ModelDelta& delta) {
  if (model_.empty()) model_ = StringAt(chunk, "model");
  const JsonNode* usage = ObjectAt(chunk, "usage");
  if (usage != nullptr) usage_ = ReadChatUsage(*usage);
  const JsonNode* choice = FirstChoice(chunk);
  if (choice == nullptr) return Status::Ok();
  begun_ = true;
  const JsonNode* message = ObjectAt(*choice, "delta");
  if (message == nullptr) message = ObjectAt(*choice, "message");
  if (message != nullptr) AG_RETURN_IF_ERROR(TakeMessage(*message, delta));
  const std::string_view reason = StringAt(*choice, "finish_reason");
  if (!reason.empty()) Stop(reason);
  if (usage == nullptr && message != nullptr && reason.empty()) FindOnlyText(*message, delta);
  return Status::Ok();
}

void ChatReplyBuilder::TakeText(std::string_view text, ModelDelta& delta) {
  (only_reasons_ ? delta.reasoning : delta.text) = text;
  (only_reasons_ ? reasoning_ : text_) += text;
}

// Refusals, and texts in parts, are not looked for: they are rare.
void ChatReplyBuilder::FindOnlyText(const JsonNode& message, const ModelDelta& delta) {
  only_reasons_ = delta.text.empty();
  const std::string& added = only_reasons_ ? delta.reasoning : delta.text;
  const std::string& other = only_reasons_ ? delta.text : delta.reasoning;
  if (!other.empty() || ArrayAt(message, "tool_calls") != nullptr) return;
  for (const char* key : {"content", "reasoning_content", "reasoning"}) {
    const std::string_view text = StringAt(message, key);
    if (text.empty()) continue;
    if (text.size() == added.size()) only_text_ = text;
    return;
  }
}

Status ChatReplyBuilder::TakeMessage(const JsonNode& message, ModelDelta& delta) {
  AppendText(delta.text, message, "content");
  const size_t answered = delta.text.size();
  AppendText(delta.text, message, "refusal");
  refused_ = refused_ || delta.text.size() > answered;
  AppendText(delta.reasoning, message, "reasoning_content");
  if (delta.reasoning.empty()) AppendText(delta.reasoning, message, "reasoning");
  text_ += delta.text;
  reasoning_ += delta.reasoning;
  const JsonNode* calls = ArrayAt(message, "tool_calls");
  if (calls == nullptr) return Status::Ok();
  for (const JsonNode& piece : JsonItems(*calls)) {
    if (piece.is_object()) AG_RETURN_IF_ERROR(TakeCall(piece, delta));
  }
  return Status::Ok();
}

Status ChatReplyBuilder::TakeCall(const JsonNode& piece, ModelDelta& delta) {
  const JsonNode* function = ObjectAt(piece, "function");
  if (function == nullptr) return Status::Ok();
  const std::string_view name = StringAt(*function, "name");
  Call* call = FindCall(IntegerAt(piece, "index"), StringAt(piece, "id"), !name.empty());
  if (call == nullptr) return TooManyCalls();
  if (call->id.empty()) call->id = StringAt(piece, "id");
  if (call->name.empty()) call->name = name;
  const JsonNode* arguments = FindMember(*function, "arguments");
  if (arguments == nullptr) return Status::Ok();
  const size_t before = call->arguments.size();
  if (arguments->is_string()) call->arguments += arguments->text;
  if (arguments->is_object()) call->arguments += JsonText(*arguments);
  delta.hidden_bytes += call->arguments.size() - before;
  return Status::Ok();
}

// Finds the call of a piece: by index; without an index by id; without an id the previous call,
// unless the piece names a function. Some servers give all calls the same index: a piece with a
// name and another id starts a new call.
ChatReplyBuilder::Call* ChatReplyBuilder::FindCall(std::optional<int64_t> index,
                                                   std::string_view id, bool named) {
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
    const bool same_id = !id.empty() && call->id == id;
    const bool begins = named && !same_id && !id.empty() && !call->id.empty();
    if (index ? call->index == index && !begins : same_id) return &*call;
  }
  if (!index && id.empty() && !named && !calls_.empty()) return &calls_.back();
  if (calls_.size() >= kToolCallsMax) return nullptr;
  calls_.emplace_back().index = index;
  return &calls_.back();
}

Status ChatReplyBuilder::MoveContent(std::vector<ContentBlock>& content) {
  // The provider's reason is "stop". A caller that asked for JSON must not read the text as such.
  if (refused_) Stop("content_filter");
  if (!reasoning_.empty()) {
    content.emplace_back(
        ReasoningBlock{.summary = std::move(reasoning_), .details = {}, .signature = {}});
  }
  std::vector<ContentBlock> calls;
  for (Call& call : calls_) {
    AG_RETURN_IF_ERROR(
        AddToolCall(calls, std::move(call.id), std::move(call.name), std::move(call.arguments)));
  }
  if (!text_.empty() || calls.empty()) content.emplace_back(TextBlock{.text = std::move(text_)});
  std::move(calls.begin(), calls.end(), std::back_inserter(content));
  return Status::Ok();
}

}  // namespace agent_graph::models

#include "models/chat_reply.h"

#include <boost/json.hpp>
#include <utility>

#include "models/json_fields.h"

namespace agent_graph::models {
namespace {

namespace bj = boost::json;

// Text given as a string, or as an array of text parts.
void AppendText(std::string& out, const bj::object& message, std::string_view key) {
  const bj::value* value = message.if_contains(key);
  if (value == nullptr) return;
  if (value->is_string()) out += TextOf(value->get_string());
  if (!value->is_array()) return;
  for (const bj::value& part : value->get_array()) {
    if (const bj::object* object = part.if_object()) out += StringAt(*object, "text");
  }
}

Usage ReadUsage(const bj::object& object) {
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

const bj::object* FirstChoice(const bj::object& chunk) {
  const bj::array* choices = ArrayAt(chunk, "choices");
  if (choices == nullptr) return nullptr;
  for (const bj::value& choice : *choices) {
    const bj::object* object = choice.if_object();
    if (object != nullptr && CountAt(object, "index") == 0) return object;
  }
  return nullptr;
}

}  // namespace

Status ChatReplyBuilder::Take(const bj::object& chunk, ModelDelta& delta) {
  if (model_.empty()) model_ = StringAt(chunk, "model");
  if (const bj::object* usage = ObjectAt(chunk, "usage")) usage_ = ReadUsage(*usage);
  const bj::object* choice = FirstChoice(chunk);
  if (choice == nullptr) return Status::Ok();
  begun_ = true;
  const bj::object* message = ObjectAt(*choice, "delta");
  if (message == nullptr) message = ObjectAt(*choice, "message");
  if (message != nullptr) AG_RETURN_IF_ERROR(TakeMessage(*message, delta));
  const std::string_view reason = StringAt(*choice, "finish_reason");
  if (!reason.empty()) Stop(reason);
  return Status::Ok();
}

Status ChatReplyBuilder::TakeMessage(const bj::object& message, ModelDelta& delta) {
  AppendText(delta.text, message, "content");
  AppendText(delta.text, message, "refusal");
  AppendText(delta.reasoning, message, "reasoning_content");
  if (delta.reasoning.empty()) AppendText(delta.reasoning, message, "reasoning");
  text_ += delta.text;
  reasoning_ += delta.reasoning;
  const bj::array* calls = ArrayAt(message, "tool_calls");
  if (calls == nullptr) return Status::Ok();
  for (const bj::value& piece : *calls) {
    if (const bj::object* object = piece.if_object()) AG_RETURN_IF_ERROR(TakeCall(*object));
  }
  return Status::Ok();
}

Status ChatReplyBuilder::TakeCall(const bj::object& piece) {
  const bj::object* function = ObjectAt(piece, "function");
  if (function == nullptr) return Status::Ok();
  const std::string_view name = StringAt(*function, "name");
  Call* call = FindCall(IntegerAt(piece, "index"), StringAt(piece, "id"), !name.empty());
  if (call == nullptr) return TooManyCalls();
  if (call->id.empty()) call->id = StringAt(piece, "id");
  if (call->name.empty()) call->name = name;
  const bj::value* arguments = function->if_contains("arguments");
  if (arguments == nullptr) return Status::Ok();
  if (arguments->is_string()) call->arguments += TextOf(arguments->get_string());
  if (arguments->is_object()) call->arguments += bj::serialize(*arguments);
  return Status::Ok();
}

// By index; without one by id; without that the call before, unless this piece names a function.
ChatReplyBuilder::Call* ChatReplyBuilder::FindCall(std::optional<int64_t> index,
                                                   std::string_view id, bool named) {
  for (Call& call : calls_) {
    if (index ? call.index == index : !id.empty() && call.id == id) return &call;
  }
  if (!index && id.empty() && !named && !calls_.empty()) return &calls_.back();
  if (calls_.size() >= kToolCallsMax) return nullptr;
  calls_.emplace_back().index = index;
  return &calls_.back();
}

Status ChatReplyBuilder::MoveContent(std::vector<ContentBlock>& content) {
  if (!reasoning_.empty()) {
    content.emplace_back(
        ReasoningBlock{.summary = std::move(reasoning_), .details = {}, .signature = {}});
  }
  if (!text_.empty() || calls_.empty()) content.emplace_back(TextBlock{.text = std::move(text_)});
  for (Call& call : calls_) {
    AG_ASSIGN_OR_RETURN(ToolCallBlock block, MakeToolCall(std::move(call.id), std::move(call.name),
                                                          std::move(call.arguments)));
    content.emplace_back(std::move(block));
  }
  return Status::Ok();
}

}  // namespace agent_graph::models

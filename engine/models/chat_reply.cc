#include "models/chat_reply.h"

#include <boost/json.hpp>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/ids.h"
#include "base/json.h"

namespace agent_graph::models {
namespace {

namespace bj = boost::json;

constexpr size_t kChunkDepthMax = 32;
constexpr size_t kErrorTextBytesMax = 300;

std::string_view View(const bj::string& text) {
  return {text.data(), text.size()};
}

// Empty when it is absent, null or no string.
std::string_view StringAt(const bj::object& object, std::string_view key) {
  const bj::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? View(value->get_string()) : std::string_view();
}

const bj::object* ObjectAt(const bj::object& object, std::string_view key) {
  const bj::value* value = object.if_contains(key);
  return value != nullptr ? value->if_object() : nullptr;
}

std::optional<int64_t> IntegerAt(const bj::object& object, std::string_view key) {
  const bj::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  bj::error_code error;
  const auto number = value->to_number<int64_t>(error);
  return error ? std::nullopt : std::optional(number);
}

int64_t CountAt(const bj::object* object, std::string_view key) {
  return object != nullptr ? IntegerAt(*object, key).value_or(0) : 0;
}

// Text given as a string, or as an array of text parts.
void AppendText(std::string& out, const bj::object& message, std::string_view key) {
  const bj::value* value = message.if_contains(key);
  if (value == nullptr) return;
  if (value->is_string()) out += View(value->get_string());
  if (!value->is_array()) return;
  for (const bj::value& part : value->get_array()) {
    if (const bj::object* object = part.if_object()) out += StringAt(*object, "text");
  }
}

Status ErrorStatus(const bj::value& error) {
  std::string text;
  if (error.is_string()) text = View(error.get_string());
  if (const bj::object* object = error.if_object()) text = StringAt(*object, "message");
  Status status(StatusCode::kModel, "the model provider reported an error");
  if (text.empty()) return status;
  text.resize(std::min(text.size(), kErrorTextBytesMax));
  return Status(StatusCode::kModel, status.message() + ": " + text);
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
  const bj::value* choices = chunk.if_contains("choices");
  if (choices == nullptr || !choices->is_array()) return nullptr;
  for (const bj::value& choice : choices->get_array()) {
    const bj::object* object = choice.if_object();
    if (object != nullptr && CountAt(object, "index") == 0) return object;
  }
  return nullptr;
}

Status TooManyCalls() {
  return Status(StatusCode::kModel, "the model made more than " + std::to_string(kToolCallsMax) +
                                        " tool calls in one reply");
}

}  // namespace

// The parts of a chunk, each appended where it belongs.
struct ChatReplyBuilder::Parts {
  ChatReplyBuilder& builder;

  Status TakeCall(const bj::object& piece) const {
    const bj::object* function = ObjectAt(piece, "function");
    if (function == nullptr) return Status::Ok();
    const std::string_view name = StringAt(*function, "name");
    Call* call = builder.FindCall(IntegerAt(piece, "index"), StringAt(piece, "id"), !name.empty());
    if (call == nullptr) return TooManyCalls();
    if (call->id.empty()) call->id = StringAt(piece, "id");
    if (call->name.empty()) call->name = name;
    const bj::value* arguments = function->if_contains("arguments");
    if (arguments == nullptr) return Status::Ok();
    if (arguments->is_string()) call->arguments += View(arguments->get_string());
    if (arguments->is_object()) call->arguments += bj::serialize(*arguments);
    return Status::Ok();
  }

  Status TakeMessage(const bj::object& message, ModelDelta& delta) const {
    AppendText(delta.text, message, "content");
    AppendText(delta.text, message, "refusal");
    AppendText(delta.reasoning, message, "reasoning_content");
    if (delta.reasoning.empty()) AppendText(delta.reasoning, message, "reasoning");
    builder.text_ += delta.text;
    builder.reasoning_ += delta.reasoning;
    const bj::value* calls = message.if_contains("tool_calls");
    if (calls == nullptr || !calls->is_array()) return Status::Ok();
    for (const bj::value& piece : calls->get_array()) {
      if (const bj::object* object = piece.if_object()) AG_RETURN_IF_ERROR(TakeCall(*object));
    }
    return Status::Ok();
  }

  Status TakeChunk(const bj::object& chunk, ModelDelta& delta) const {
    const bj::value* error = chunk.if_contains("error");
    if (error != nullptr && !error->is_null()) return ErrorStatus(*error);
    if (builder.model_.empty()) builder.model_ = StringAt(chunk, "model");
    if (const bj::object* usage = ObjectAt(chunk, "usage")) builder.usage_ = ReadUsage(*usage);
    const bj::object* choice = FirstChoice(chunk);
    if (choice == nullptr) return Status::Ok();
    builder.has_choice_ = true;
    const bj::object* message = ObjectAt(*choice, "delta");
    if (message == nullptr) message = ObjectAt(*choice, "message");
    if (message != nullptr) AG_RETURN_IF_ERROR(TakeMessage(*message, delta));
    const std::string_view reason = StringAt(*choice, "finish_reason");
    if (!reason.empty()) builder.stop_reason_ = reason == "function_call" ? "tool_calls" : reason;
    return Status::Ok();
  }
};

Result<ModelDelta> ChatReplyBuilder::Add(std::string_view json) {
  const Status malformed(StatusCode::kModel, "the model provider sent a malformed chunk");
  bj::parse_options options;
  options.max_depth = kChunkDepthMax;
  options.allow_invalid_utf8 = true;  // replaced where the text is written
  try {
    bj::monotonic_resource memory(scratch_.data(), scratch_.size());
    bj::error_code error;
    const bj::value chunk = bj::parse({json.data(), json.size()}, error, &memory, options);
    if (error || !chunk.is_object()) return malformed;
    ModelDelta delta;
    AG_RETURN_IF_ERROR(Parts{*this}.TakeChunk(chunk.get_object(), delta));
    return delta;
  } catch (const std::exception& failure) {
    return Status(malformed).WithDetail(failure.what());
  }
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

Result<ModelReply> ChatReplyBuilder::Finish(bool ended) {
  if (!complete() && !(ended && has_choice_)) {
    return Status(StatusCode::kModel, ended || has_choice_ || usage_
                                          ? "the model provider's reply broke off before its end"
                                          : "the model provider's reply is empty");
  }
  ModelReply reply;
  reply.message.role = Role::kAssistant;
  reply.message.usage = usage_;
  reply.model = std::move(model_);
  reply.stop_reason = !stop_reason_.empty() ? stop_reason_ : calls_.empty() ? "stop" : "tool_calls";
  std::vector<ContentBlock>& content = reply.message.content;
  if (!reasoning_.empty()) {
    content.emplace_back(
        ReasoningBlock{.summary = std::move(reasoning_), .details = {}, .signature = {}});
  }
  if (!text_.empty() || calls_.empty()) content.emplace_back(TextBlock{.text = std::move(text_)});
  for (Call& call : calls_) {
    if (call.name.empty()) {
      return Status(StatusCode::kModel, "the model made a tool call without a name");
    }
    if (call.arguments.empty()) call.arguments = "{}";
    const Result<nlohmann::json> arguments = ParseJson(call.arguments);
    if (!arguments.ok() || !arguments->is_object()) {
      return Status(StatusCode::kModel, "the model called tool \"" + call.name +
                                            "\" with arguments that are not a JSON object");
    }
    content.emplace_back(ToolCallBlock{.id = call.id.empty() ? "call_" + NewHexId() : call.id,
                                       .name = std::move(call.name),
                                       .arguments_json = std::move(call.arguments)});
  }
  return reply;
}

}  // namespace agent_graph::models

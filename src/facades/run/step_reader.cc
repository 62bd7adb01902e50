#include "facades/run/step_reader.h"

#include <algorithm>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "message/codec.h"
#include "message/reader.h"

namespace agent_graph::facades {
namespace {

void Add(const Usage& more, Usage& sum) {
  sum.prompt_tokens += more.prompt_tokens;
  sum.completion_tokens += more.completion_tokens;
  sum.total_tokens += more.total_tokens;
  sum.reasoning_tokens += more.reasoning_tokens;
  sum.cache_creation_input_tokens += more.cache_creation_input_tokens;
  sum.cache_read_input_tokens += more.cache_read_input_tokens;
}

std::string StopReasonOf(const Message& message) {
  const Result<json> metadata = ParseJson(message.metadata_json);
  if (!metadata.ok() || !metadata->is_object()) return "";
  const auto found = metadata->find("stop_reason");
  return found != metadata->end() && found->is_string() ? found->get<std::string>() : "";
}

// The rest of `text` behind the bytes that were shown; empty if it is another text.
std::string_view Rest(std::string_view text, size_t shown) {
  return shown <= text.size() ? text.substr(shown) : std::string_view();
}

}  // namespace

Result<StepReader::Partial*> StepReader::Begin(std::string_view id, std::string_view node, int step,
                                               const api::EventPlace& place) {
  const auto known =
      std::ranges::find_if(partials_, [&](const Partial& one) { return one.head.id == id; });
  if (known != partials_.end()) return &*known;
  partials_.push_back({.head = {std::string(id), std::string(node), step}});
  AG_RETURN_IF_ERROR(OnMessageStarted(partials_.back().head, place));
  return &partials_.back();
}

Status StepReader::OnDelta(const run::RunDelta& delta, const api::EventPlace& place, bool) {
  AG_ASSIGN_OR_RETURN(Partial* const partial,
                      Begin(delta.message_id, delta.node, delta.step, place));
  partial->text += delta.text.size();
  partial->reasoning += delta.reasoning.size();
  if (!delta.reasoning.empty()) {
    AG_RETURN_IF_ERROR(OnReasoning(partial->head, delta.reasoning, place));
  }
  return delta.text.empty() ? Status::Ok() : OnText(partial->head, delta.text, place);
}

Status StepReader::OnMessage(const api::MessageEvent& event, const api::EventPlace& place) {
  AG_ASSIGN_OR_RETURN(const Message message, message::FromJsonText(event.json));
  if (message.role == Role::kAssistant) {
    AG_RETURN_IF_ERROR(FinishAnswer(event, message, place));
  }
  const MessageHead head{message.id, std::string(event.node), event.step};
  for (const ToolResultBlock* result : message.ToolResults()) {
    std::erase_if(open_calls_,
                  [&](const ToolCallBlock& call) { return call.id == result->call_id; });
    AG_RETURN_IF_ERROR(OnToolResult(head, *result, place));
  }
  return Status::Ok();
}

Status StepReader::FinishAnswer(const api::MessageEvent& event, const Message& message,
                                const api::EventPlace& place) {
  AG_RETURN_IF_ERROR(Begin(message.id, event.node, event.step, place).status());
  const auto found = std::ranges::find_if(
      partials_, [&](const Partial& one) { return one.head.id == message.id; });
  const Partial partial = std::move(*found);
  partials_.erase(found);
  const std::string all_reasoning = message::ReasoningOfBlocks(message);
  const std::string_view reasoning = Rest(all_reasoning, partial.reasoning);
  if (!reasoning.empty()) AG_RETURN_IF_ERROR(OnReasoning(partial.head, reasoning, place));
  const std::string all_text = message.Text();
  const std::string_view text = Rest(all_text, partial.text);
  if (!text.empty()) AG_RETURN_IF_ERROR(OnText(partial.head, text, place));
  for (const ToolCallBlock* call : message.ToolCalls()) {
    if (call->remote) open_calls_.push_back(*call);
    AG_RETURN_IF_ERROR(OnToolCall(partial.head, *call, place));
  }
  if (message.usage) Add(*message.usage, usage_);
  stop_reason_ = StopReasonOf(message);
  return OnMessageFinished(partial.head, message, place);
}

Status StepReader::OnReset(std::string_view message_id, uint32_t attempt) {
  // Without an id: the reader began in the middle of it and has shown nothing.
  const auto found = std::ranges::find_if(
      partials_, [&](const Partial& one) { return one.head.id == message_id; });
  if (found == partials_.end()) return Status::Ok();
  const Partial partial = std::move(*found);
  partials_.erase(found);
  return OnMessageVoid(partial.head, attempt);
}

}  // namespace agent_graph::facades

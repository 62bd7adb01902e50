#include "facades/run/step_reader.h"

#include <algorithm>
#include <utility>

#include "facades/run/answer_parts.h"
#include "message/codec.h"
#include "message/reader.h"

namespace agent_graph::facades {

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
  // The tool node hands calls to the client in messages of their own.
  for (const ToolCallBlock* call : message.ToolCalls()) {
    if (message.role == Role::kAssistant) break;
    open_calls_.push_back(*call);
    AG_RETURN_IF_ERROR(OnToolCall(head, *call, place));
  }
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
  const std::string_view reasoning = RestOf(all_reasoning, partial.reasoning);
  if (!reasoning.empty()) AG_RETURN_IF_ERROR(OnReasoning(partial.head, reasoning, place));
  const std::string all_text = message.Text();
  const std::string_view text = RestOf(all_text, partial.text);
  if (!text.empty()) AG_RETURN_IF_ERROR(OnText(partial.head, text, place));
  for (const ToolCallBlock* call : message.ToolCalls()) {
    AG_RETURN_IF_ERROR(OnToolCall(partial.head, *call, place));
  }
  if (message.usage) AddUsage(*message.usage, usage_);
  stop_reason_ = StopReasonOf(message);
  return OnMessageFinished(partial.head, message, place);
}

Status StepReader::OnReset(std::string_view message_id, uint32_t attempt) {
  // Empty id: this reader began in the middle of the message and has shown nothing of it.
  const auto found = std::ranges::find_if(
      partials_, [&](const Partial& one) { return one.head.id == message_id; });
  if (found == partials_.end()) return Status::Ok();
  const Partial partial = std::move(*found);
  partials_.erase(found);
  return OnMessageVoid(partial.head, attempt);
}

}  // namespace agent_graph::facades

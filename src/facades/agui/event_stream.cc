#include "facades/agui/event_stream.h"

#include <algorithm>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "facades/agui/agui_messages.h"
#include "facades/agui/events.h"
#include "facades/run/signed_reasoning.h"
#include "message/codec.h"

namespace agent_graph::agui {
namespace {

// A function may stream any number of messages before one of them is stored.
constexpr size_t kOpenMessagesMax = 64;

// Blocks that a message of AG-UI cannot have: media of the assistant, and blocks of other types.
std::string OtherBlocksOf(const Message& message) {
  Message rest;
  rest.role = message.role;
  for (const ContentBlock& block : message.content) {
    const bool is_other =
        std::holds_alternative<MediaBlock>(block) || std::holds_alternative<OtherBlock>(block);
    if (is_other) rest.content.push_back(block);
  }
  if (rest.content.empty()) return "";
  return DumpJson(message::ToJson(rest).at("content"));
}

}  // namespace

std::string EventStream::Take() {
  return std::exchange(out_, {});
}

void EventStream::SkipMessages(const std::vector<std::string>& ids) {
  skipped_messages_.insert(ids.begin(), ids.end());
}

void EventStream::SkipCalls(const std::unordered_set<std::string>& ids) {
  calls_.insert(ids.begin(), ids.end());
}

bool EventStream::IsSkipped(std::string_view message_id) const {
  return !skipped_messages_.empty() && skipped_messages_.contains(std::string(message_id));
}

void EventStream::EnterStep(std::string_view node) {
  if (node.empty() || node == step_) return;
  FinishStep(step_);
  step_ = node;
  Event(out_, "STEP_STARTED").Text("stepName", step_);
}

void EventStream::FinishStep(std::string_view node) {
  if (node.empty()) return;
  if (step_ != node) EnterStep(node);
  for (OpenMessage& message : messages_) End(message);
  messages_.clear();
  Event(out_, "STEP_FINISHED").Text("stepName", step_);
  step_.clear();
}

EventStream::OpenMessage* EventStream::Find(std::string_view message_id) {
  const auto found = std::ranges::find(messages_, message_id, &OpenMessage::id);
  return found == messages_.end() ? nullptr : &*found;
}

EventStream::OpenMessage& EventStream::Open(std::string_view message_id) {
  if (OpenMessage* known = Find(message_id)) return *known;
  if (messages_.size() == kOpenMessagesMax) {
    End(messages_.front());
    messages_.erase(messages_.begin());
  }
  return messages_.emplace_back(OpenMessage{.id = std::string(message_id)});
}

void EventStream::Reasoning(std::string_view message_id, std::string_view piece) {
  if (piece.empty() || IsSkipped(message_id)) return;
  OpenMessage& message = Open(message_id);
  if (!message.has_reasoning) {
    message.has_reasoning = true;
    message.span_id = ReasoningId(message_id, message.spans++);
    Event(out_, "REASONING_START").Text("messageId", message.span_id);
    Event(out_, "REASONING_MESSAGE_START")
        .Text("messageId", message.span_id)
        .Text("role", "reasoning");
  }
  Event(out_, "REASONING_MESSAGE_CONTENT").Text("messageId", message.span_id).Text("delta", piece);
}

void EventStream::Text(std::string_view message_id, std::string_view piece) {
  if (piece.empty() || IsSkipped(message_id)) return;
  OpenMessage& message = Open(message_id);
  EndReasoning(message);
  if (!message.has_text) {
    message.has_text = true;
    Event(out_, "TEXT_MESSAGE_START").Text("messageId", message.id).Text("role", "assistant");
  }
  Event(out_, "TEXT_MESSAGE_CONTENT").Text("messageId", message.id).Text("delta", piece);
}

void EventStream::EndReasoning(OpenMessage& message) {
  if (!std::exchange(message.has_reasoning, false)) return;
  Event(out_, "REASONING_MESSAGE_END").Text("messageId", message.span_id);
  Event(out_, "REASONING_END").Text("messageId", message.span_id);
}

void EventStream::End(OpenMessage& message) {
  EndReasoning(message);
  if (std::exchange(message.has_text, false)) {
    Event(out_, "TEXT_MESSAGE_END").Text("messageId", message.id);
  }
}

void EventStream::Call(std::string_view message_id, const ToolCallBlock& call) {
  // A call that is handed to the client stands in a second message, too.
  const bool is_new = calls_.insert(call.id).second;
  if (std::ranges::find(pending_calls_, call.id) == pending_calls_.end()) {
    pending_calls_.push_back(call.id);
  }
  if (!is_new || IsSkipped(message_id)) return;
  if (OpenMessage* message = Find(message_id)) End(*message);
  Event(out_, "TOOL_CALL_START")
      .Text("toolCallId", call.id)
      .Text("toolCallName", call.name)
      .Text("parentMessageId", message_id);
  Event(out_, "TOOL_CALL_ARGS").Text("toolCallId", call.id).Text("delta", call.arguments_json);
  Event(out_, "TOOL_CALL_END").Text("toolCallId", call.id);
}

void EventStream::Result(std::string_view message_id, const ToolResultBlock& result) {
  std::erase(pending_calls_, result.call_id);
  results_ = result_message_ == message_id ? results_ + 1 : 0;
  result_message_ = message_id;
  if (IsSkipped(message_id) || skipped_results_.contains(result.call_id)) return;
  Event event(out_, "TOOL_CALL_RESULT");
  event.Text("messageId", ResultId(message_id, results_))
      .Text("toolCallId", result.call_id)
      .Text("content", ResultText(result))
      .Text("role", "tool");
  if (result.is_error) event.Json("metadata", R"({"isError":true})");
}

void EventStream::FinishMessage(const Message& message) {
  if (OpenMessage* open = Find(message.id)) {
    const std::string span_id = open->span_id;
    End(*open);
    const std::string signature = span_id.empty() ? "" : facades::SignatureOf(message);
    if (!signature.empty()) {
      Event(out_, "REASONING_ENCRYPTED_VALUE")
          .Text("subtype", "message")
          .Text("entityId", span_id)
          .Text("encryptedValue", signature);
    }
    std::erase_if(messages_, [&](const OpenMessage& one) { return one.id == message.id; });
  }
  if (IsSkipped(message.id)) return;
  if (const std::string blocks = OtherBlocksOf(message); !blocks.empty()) {
    std::string value = "{\"messageId\":";
    AppendJsonString(value, message.id);
    value += ",\"content\":" + blocks + '}';
    Event(out_, "CUSTOM").Text("name", "agent-graph:content").Json("value", value);
  }
}

bool EventStream::Void(std::string_view message_id) {
  OpenMessage* message = Find(message_id);
  if (message == nullptr) return false;
  End(*message);
  std::erase_if(messages_, [&](const OpenMessage& one) { return one.id == message_id; });
  return true;
}

void EventStream::Close() {
  for (OpenMessage& message : messages_) End(message);
  messages_.clear();
  if (step_.empty()) return;
  Event(out_, "STEP_FINISHED").Text("stepName", step_);
  step_.clear();
}

}  // namespace agent_graph::agui

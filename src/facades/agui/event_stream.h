// The state machine of a stream of events: which steps, messages and reasoning are open. Clients
// verify it, and refuse the rest of a run after the first event that does not fit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "agent_graph/message.h"

namespace agent_graph::agui {

// Appends events to a text that its owner takes and sends. Used by one fiber.
class EventStream {
 public:
  // The events since the last call.
  std::string Take();
  bool empty() const { return out_.empty(); }
  std::string& out() { return out_; }

  // A client has these messages and calls: they are not shown again.
  void SkipMessages(const std::vector<std::string>& ids);
  void SkipCalls(const std::unordered_set<std::string>& ids);
  void SkipResultsOf(const std::string& call_id) { skipped_results_.insert(call_id); }

  // Sets the node that produces the following events. Empty: no change.
  void EnterStep(std::string_view node);
  // Call when a node has ended: ends its open messages.
  void FinishStep(std::string_view node);

  void Reasoning(std::string_view message_id, std::string_view piece);
  void Text(std::string_view message_id, std::string_view piece);
  void Call(std::string_view message_id, const ToolCallBlock& call);
  void Result(std::string_view message_id, const ToolResultBlock& result);
  // The message is complete.
  void FinishMessage(const Message& message);
  // Call when the pieces of the message are void. Ends the message, and returns true, if the client
  // has pieces of it.
  bool Void(std::string_view message_id);
  // Ends all that is open, as before RUN_FINISHED.
  void Close();

  // Calls that were shown and have no result, in order.
  const std::vector<std::string>& pending_calls() const { return pending_calls_; }

 private:
  // A message of which the client has a part.
  struct OpenMessage {
    std::string id;
    bool has_text = false;       // TEXT_MESSAGE_START was sent
    bool has_reasoning = false;  // a span of reasoning is open
    size_t spans = 0;            // spans of reasoning, with the open one
    std::string span_id = {};
  };

  OpenMessage* Find(std::string_view message_id);
  OpenMessage& Open(std::string_view message_id);
  void EndReasoning(OpenMessage& message);
  void End(OpenMessage& message);
  bool IsSkipped(std::string_view message_id) const;

  std::string out_;
  std::string step_;  // the open one; empty: none
  std::vector<OpenMessage> messages_;
  std::unordered_set<std::string> skipped_messages_;
  std::unordered_set<std::string> skipped_results_;
  std::unordered_set<std::string> calls_;  // the calls that the client has
  std::vector<std::string> pending_calls_;
  std::string result_message_;  // the message whose results were shown last
  size_t results_ = 0;          // results of that message
};

}  // namespace agent_graph::agui

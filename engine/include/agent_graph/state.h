// State: what a node, a predicate or a reducer can see of the conversation thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/export.h"
#include "agent_graph/json_fwd.h"
#include "agent_graph/message.h"

namespace agent_graph {

// A value: copying copies the messages and the fields. Nodes get it const; they change it by what
// they return (NodeResult).
class AGENT_GRAPH_API State {
 public:
  State();
  ~State();
  State(const State& other);
  State& operator=(const State& other);
  State(State&& other) noexcept;
  State& operator=(State&& other) noexcept;

  // The working window (`context` on the wire), oldest first. Ends with the newest message.
  const std::vector<Message>& messages() const { return messages_; }
  // The rolling summary of messages that left the window.
  const std::optional<std::string>& summary() const { return summary_; }
  // Custom fields, a JSON object. Declared fields are present from the first node on.
  const json& fields() const { return *fields_; }
  // One custom field; JSON null when it is not set.
  const json& Field(std::string_view name) const;

  // Text of the newest message with role user, a line break between its text blocks; empty when
  // there is none.
  std::string LastUserText() const;
  // The newest message, null when there is none.
  const Message* LastMessage() const;
  // The tool calls of the newest assistant message that have no result yet, in order. Pointers
  // live as long as the messages are not changed.
  std::vector<const ToolCallBlock*> PendingToolCalls() const;

  // For whoever owns the state: the run loop, and your unit tests.
  std::vector<Message>& mutable_messages() { return messages_; }
  void set_summary(std::optional<std::string> summary) { summary_ = std::move(summary); }
  json& mutable_fields() { return *fields_; }

 private:
  std::vector<Message> messages_;
  std::optional<std::string> summary_;
  std::unique_ptr<json> fields_;  // never null, except in a moved-from state
};

}  // namespace agent_graph

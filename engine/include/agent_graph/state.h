// State: the part of the conversation thread that nodes, predicates and reducers can read.
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

// A value: a copy has its own messages and fields. Nodes receive it as const and change it through
// the value that they return (NodeResult). Not thread-safe.
class AGENT_GRAPH_API State {
 public:
  State();
  ~State();
  State(const State& other);
  State& operator=(const State& other);
  State(State&& other) noexcept;
  State& operator=(State&& other) noexcept;

  // The working window (`context` on the wire), oldest message first.
  const std::vector<Message>& messages() const { return messages_; }
  // The summary of the messages that have left the window.
  const std::optional<std::string>& summary() const { return summary_; }
  // Custom fields, a JSON object. Declared fields exist from the first node on.
  const json& fields() const { return *fields_; }
  // One custom field; JSON null if it is not set.
  const json& Field(std::string_view name) const;

  // Text of the newest message with role user, its text blocks separated by line breaks; empty if
  // there is none.
  std::string LastUserText() const;
  // The newest message; null if there is none.
  const Message* LastMessage() const;
  // The tool calls of the newest assistant message that have no result yet, in order. The pointers
  // stay valid until the messages change.
  std::vector<const ToolCallBlock*> PendingToolCalls() const;

  // For the code that owns the State object: the run loop and your unit tests.
  std::vector<Message>& mutable_messages() { return messages_; }
  void set_summary(std::optional<std::string> summary) { summary_ = std::move(summary); }
  json& mutable_fields() { return *fields_; }

 private:
  std::vector<Message> messages_;
  std::optional<std::string> summary_;
  std::unique_ptr<json> fields_;  // null only in a moved-from state
};

}  // namespace agent_graph

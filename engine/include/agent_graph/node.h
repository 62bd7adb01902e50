// Function nodes: a C++ function as a node of a graph.
//
//   NodeResult Greet(const State& state, RunContext& context) {
//     return Message::Assistant("Hello, you said: " + state.LastUserText());
//   }
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent_graph/execution.h"
#include "agent_graph/export.h"
#include "agent_graph/json_fwd.h"
#include "agent_graph/message.h"
#include "agent_graph/run_context.h"
#include "agent_graph/state.h"

namespace agent_graph {

// A new value for one custom state field, merged by the field's reducer.
struct FieldUpdate {
  std::string name;
  std::string value_json = "null";
};

// Pauses the run after this node. The thread keeps the state; the next invoke on it continues with
// the node that would have been next.
struct Interrupt {
  std::string reason;
  std::string data_json = "null";  // JSON text; the client receives it as interrupt.data
};

// The result of a node. Every field is optional; an empty result only follows the node's edge.
struct AGENT_GRAPH_API NodeResult {
  std::vector<Message> messages;       // appended to the thread, in order
  std::vector<FieldUpdate> updates;    // applied in order
  std::optional<std::string> summary;  // replaces the context summary
  std::optional<std::string> go_to;    // the next node (or END); the edges are not followed
  std::optional<Interrupt> interrupt;

  NodeResult() = default;
  NodeResult(Message message) { messages.push_back(std::move(message)); }  // NOLINT: implicit
  NodeResult(std::vector<Message> list) : messages(std::move(list)) {}     // NOLINT: implicit

  // The same as a chain: return NodeResult().Add(message).Set("score", 3).GoTo("REVIEW");
  NodeResult& Add(Message message);
  NodeResult& Set(std::string field, const json& value);
  NodeResult& GoTo(std::string node);
  NodeResult& Pause(std::string reason);
};

// Called once per visit of the node. Different runs call it at the same time on different threads,
// so the data that it captures must be thread-safe. An exception ends the run with an error.
using NodeFunction = std::function<NodeResult(const State& state, RunContext& context)>;

}  // namespace agent_graph

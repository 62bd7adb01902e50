// CompiledGraph: a validated graph. Immutable and thread-safe; one instance serves all runs of a
// worker.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "agent_graph/graph.h"
#include "agent_graph/json_fwd.h"
#include "base/status.h"
#include "graph/definition.h"
#include "graph/reducers.h"

namespace agent_graph::graph {

struct EdgeView {
  std::string source;  // node name or START
  std::string target;  // node name or END
};

// A part of a graph that calls a model of `models` in service.json.
struct ModelUse {
  std::string asker;  // for messages: "node \"MAIN\""
  std::string model;
  bool live = false;  // uses the provider's realtime API
};

class CompiledGraph {
 public:
  // kGraph with all problems of the builder in one line. `default_name` is used for a graph without
  // a name. `content_hash` is the hash of the graph's file; empty: computed from the structure.
  static Result<std::shared_ptr<const CompiledGraph>> Compile(const GraphBuilder& builder,
                                                              std::string default_name,
                                                              std::string content_hash = "");

  const std::string& name() const { return definition_.name; }
  // 32 hex digits; differs for every version of the graph's file.
  const std::string& hash() const { return hash_; }

  const std::vector<Node>& nodes() const { return definition_.nodes; }
  const Node* FindNode(std::string_view name) const;  // null if there is no such node
  // All edges, and each target of each conditional edge, in the order they were added. Edges into
  // and out of subgraphs connect the inner nodes.
  std::vector<EdgeView> edges() const;
  const std::optional<ContextPolicy>& context() const { return definition_.context; }
  const std::vector<std::string>& interrupt_before() const { return definition_.interrupt_before; }
  const std::vector<std::string>& interrupt_after() const { return definition_.interrupt_after; }

  // The node after `from` (pass START for the first one), or END. kGraph if a predicate throws or
  // returns a name that is not a target of its edge. Ignores NodeResult::go_to: see Jump.
  Result<std::string> Next(std::string_view from, const State& state) const;
  // The node that NodeResult::go_to leads to. `target` is a node in the same graph or subgraph as
  // `from`, or END; END inside a subgraph continues after the subgraph.
  Result<std::string> Jump(std::string_view from, std::string_view target,
                           const State& state) const;

  bool InterruptsBefore(std::string_view node) const;
  bool InterruptsAfter(std::string_view node) const;

  // The tools offered to an agent's model; null if there are none.
  const ToolNode* ToolsOf(const Agent& agent) const;
  // Every use of a model, in the order of the nodes. At start-up each must be configured.
  std::vector<ModelUse> ModelUses() const;

  // The root of the live agents; null if the graph is not live.
  const Node* live_root() const;
  // Null if there is no live agent of that name.
  const LiveAgent* FindLiveAgent(std::string_view name) const;
  // The agents that `name` may transfer the conversation to: its sub-agents, and the agents that
  // have it as a sub-agent.
  std::vector<std::string> HandoverTargets(std::string_view name) const;

  // --- state fields -----------------------------------------------------------------------
  const std::vector<StateField>& fields() const { return definition_.fields; }
  // Sets declared fields that are missing to their defaults.
  void AddMissingFields(State& state) const;
  // Merges each update by the field's reducer; an undeclared field is replaced. kGraph if a reducer
  // throws, or an update is not JSON or names a built-in field. After a failure the state is
  // unchanged. `effects`, which may be null, gets the effect of each update.
  Status ApplyUpdates(const std::vector<FieldUpdate>& updates, State& state,
                      std::vector<UpdateEffect>* effects = nullptr) const;
  // Sets fields without reducers, as `initial_state` does. `values` is an object; `context`,
  // `context_summary` and `execution_meta` are skipped, because the caller handles them.
  Status SetFields(const json& values, State& state) const;
  // Returns kGraph if the value of a declared field does not match its schema, for example because
  // another version of the graph has set it. Always accepted: the field's default, null, and every
  // value of a field whose schema cannot be checked.
  Status CheckFields(const State& state) const;
  // "context", "context_summary", "execution_meta" and the names of the custom fields.
  std::vector<std::string> StateFieldNames() const;
  // JSON Schema of AgentState with this graph's fields, as text.
  const std::string& state_schema_json() const { return state_schema_json_; }

 private:
  CompiledGraph() = default;

  const OutgoingEdge* EdgeFrom(std::string_view from) const;
  // The target of the edge, or the end of the scope if there is no edge.
  Result<std::string> Follow(std::string_view from, const State& state) const;
  // Resolves the name or the end of a subgraph to a node, or to END of the whole graph.
  Result<std::string> Settle(std::string target, const State& state) const;
  void AddViews(const std::string& source, const std::string& target, int depth,
                std::vector<EdgeView>& views) const;
  const StateField* FindField(std::string_view name) const;

  GraphDefinition definition_;
  std::string hash_;
  std::string state_schema_json_;
  std::unordered_map<std::string_view, const Node*> nodes_;  // keys point into definition_
  std::unordered_map<std::string_view, const OutgoingEdge*> edges_;
  std::unordered_set<std::string> subgraphs_;  // paths of the flattened subgraphs
};

}  // namespace agent_graph::graph

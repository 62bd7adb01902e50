// A validated graph. Immutable: one instance serves all fibers of a worker.
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

namespace agent_graph::graph {

struct EdgeView {
  std::string source;  // node name or START
  std::string target;  // node name or END
};

// A part of a graph that asks a model of `models` in service.json.
struct ModelUse {
  std::string asker;  // for messages: "node \"MAIN\""
  std::string model;
  bool live = false;  // over the provider's realtime API
};

class CompiledGraph {
 public:
  // kGraph with every problem of the builder in one line. `default_name` names a graph that did not
  // name itself; `content_hash` of the file it came from, empty: computed from the structure.
  static Result<std::shared_ptr<const CompiledGraph>> Compile(const GraphBuilder& builder,
                                                              std::string default_name,
                                                              std::string content_hash = "");

  const std::string& name() const { return definition_.name; }
  // 32 hex digits; changes whenever the graph's file does.
  const std::string& hash() const { return hash_; }

  const std::vector<Node>& nodes() const { return definition_.nodes; }
  const Node* FindNode(std::string_view name) const;  // null: no such node
  // Static edges and each target of each conditional edge, in the order they were added; those into
  // and out of subgraphs from node to node.
  std::vector<EdgeView> edges() const;
  const std::optional<ContextPolicy>& context() const { return definition_.context; }
  const std::vector<std::string>& interrupt_before() const { return definition_.interrupt_before; }
  const std::vector<std::string>& interrupt_after() const { return definition_.interrupt_after; }

  // The node after `from` (START for the first), or END. kGraph when a predicate throws or names
  // no target of its edge. Ignores NodeResult::go_to: see Jump.
  Result<std::string> Next(std::string_view from, const State& state) const;
  // Where a node's NodeResult::go_to leads: `target` is a node beside `from`, or END, which for a
  // node of a subgraph is what comes after that.
  Result<std::string> Jump(std::string_view from, std::string_view target,
                           const State& state) const;

  bool InterruptsBefore(std::string_view node) const;
  bool InterruptsAfter(std::string_view node) const;

  // The tools an agent's model is told about; null when it has none.
  const ToolNode* ToolsOf(const Agent& agent) const;
  // Everything that asks a model, in the order of the nodes: start-up checks that each is
  // configured.
  std::vector<ModelUse> ModelUses() const;

  // The live agent at the root, null when the graph is not live.
  const Node* live_root() const;
  // Null when there is no live agent of that name.
  const LiveAgent* FindLiveAgent(std::string_view name) const;
  // Whom `name` may hand the conversation over to: its sub-agents, and those it is one of.
  std::vector<std::string> HandoverTargets(std::string_view name) const;

  // --- state fields -----------------------------------------------------------------------
  const std::vector<StateField>& fields() const { return definition_.fields; }
  // Fills in the defaults of declared fields that are not set.
  void AddMissingFields(State& state) const;
  // Merges by each field's reducer; a field that was not declared is replaced. kGraph when a
  // reducer throws or an update is not JSON or names one of the built-in fields; the state is then
  // as it was.
  Status ApplyUpdates(const std::vector<FieldUpdate>& updates, State& state) const;
  // Sets fields without reducers, as `initial_state` does: `values` is an object; `context`,
  // `context_summary` and `execution_meta` are the caller's to handle and are skipped.
  Status SetFields(const json& values, State& state) const;
  // "context", "context_summary", "execution_meta" and the custom fields.
  std::vector<std::string> StateFieldNames() const;
  // JSON Schema of AgentState with this graph's fields, as text.
  const std::string& state_schema_json() const { return state_schema_json_; }

 private:
  CompiledGraph() = default;

  const OutgoingEdge* EdgeFrom(std::string_view from) const;
  // The target of an edge, or the end of the scope when there is no edge.
  Result<std::string> Follow(std::string_view from, const State& state) const;
  // Goes on from the name or the end of a subgraph to a node, or END of the whole.
  Result<std::string> Settle(std::string target, const State& state) const;
  void AddViews(const std::string& source, const std::string& target, int depth,
                std::vector<EdgeView>& views) const;
  const StateField* FindField(std::string_view name) const;

  GraphDefinition definition_;
  std::string hash_;
  std::string state_schema_json_;
  std::unordered_map<std::string_view, const Node*> nodes_;  // keys point into definition_
  std::unordered_map<std::string_view, const OutgoingEdge*> edges_;
  std::unordered_set<std::string> subgraphs_;  // paths of those that were taken apart
};

}  // namespace agent_graph::graph

#include "graph/compiled_graph.h"

#include <algorithm>

#include "base/allocation_account.h"
#include "graph/content_hash.h"
#include "graph/flatten.h"
#include "graph/problems.h"
#include "graph/state_schema.h"

namespace agent_graph::graph {
namespace {

// A path that enters and leaves subgraphs more often than this never reaches a node.
constexpr int kSubgraphHopsMax = 64;

bool Contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Used for the hash of a graph that was not loaded from a file.
std::string StructureText(const GraphDefinition& definition) {
  std::string text = definition.name;
  for (const Node& node : definition.nodes) text += "\nnode " + node.name;
  for (const OutgoingEdge& edge : definition.edges) {
    text += "\nedge " + edge.from;
    for (const std::string& target : edge.targets) text += " " + target;
  }
  return text;
}

// Schemas that do not compile were already reported by Problems().
void CompileSchemas(ToolNode& node) {
  for (const Tool& tool : node.tools) {
    Result<tools::JsonSchemaPtr> schema = tools::JsonSchema::Compile(tool.parameters_json);
    node.schemas.push_back(schema.ok() ? *std::move(schema) : nullptr);
  }
}

}  // namespace

Result<std::shared_ptr<const CompiledGraph>> CompiledGraph::Compile(const GraphBuilder& builder,
                                                                    std::string default_name,
                                                                    std::string content_hash) {
  std::vector<std::string> problems = builder.Problems();
  if (!problems.empty()) {
    std::string text = std::move(problems[0]);
    for (size_t i = 1; i < problems.size(); ++i) text += "; " + problems[i];
    return GraphFailure(std::move(text));
  }
  std::shared_ptr<CompiledGraph> graph(new CompiledGraph);
  std::vector<std::string> subgraphs;
  graph->definition_ = Flatten(builder.definition(), subgraphs);
  graph->subgraphs_.insert(subgraphs.begin(), subgraphs.end());
  for (Node& node : graph->definition_.nodes) {
    if (auto* tools = std::get_if<ToolNode>(&node.kind)) CompileSchemas(*tools);
  }
  if (graph->definition_.name.empty()) graph->definition_.name = std::move(default_name);
  graph->hash_ = content_hash.empty() ? ContentHash(StructureText(graph->definition_))
                                      : std::move(content_hash);
  graph->state_schema_json_ = StateSchemaJson(graph->definition_.fields);
  for (const Node& node : graph->definition_.nodes) graph->nodes_.emplace(node.name, &node);
  for (const OutgoingEdge& edge : graph->definition_.edges) graph->edges_.emplace(edge.from, &edge);
  return std::shared_ptr<const CompiledGraph>(std::move(graph));
}

const Node* CompiledGraph::FindNode(std::string_view name) const {
  auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : found->second;
}

std::vector<EdgeView> CompiledGraph::edges() const {
  std::vector<EdgeView> views;
  for (const auto* edges : {&definition_.edges, &definition_.go_to}) {
    for (const OutgoingEdge& edge : *edges) {
      // Edges into and out of subgraphs are shown at the nodes that they connect.
      const bool inner = edge.from != START && FindNode(edge.from) == nullptr;
      if (inner) continue;
      for (const std::string& target : edge.targets) AddViews(edge.from, target, 0, views);
    }
  }
  for (const Node& node : definition_.nodes) {
    const std::string_view scope = ScopeOf(node.name);
    if (scope.empty() || EdgeFrom(node.name) != nullptr) continue;
    AddViews(node.name, std::string(scope) + END, 0, views);
  }
  return views;
}

void CompiledGraph::AddViews(const std::string& source, const std::string& target, int depth,
                             std::vector<EdgeView>& views) const {
  const std::string_view ended = EndedSubgraph(target);
  const bool enters = subgraphs_.contains(target);
  if (ended.empty() && !enters) {
    const bool known = std::any_of(views.begin(), views.end(), [&](const EdgeView& view) {
      return view.source == source && view.target == target;
    });
    if (!known) views.push_back({source, target});
    return;
  }
  if (depth >= kSubgraphHopsMax) return;
  const std::string from = enters ? target + kPathSeparator + START : std::string(ended);
  const OutgoingEdge* edge = EdgeFrom(from);
  if (edge == nullptr) {
    return AddViews(source, std::string(ScopeOf(from)) + END, depth + 1, views);
  }
  for (const std::string& next : edge->targets) AddViews(source, next, depth + 1, views);
}

const OutgoingEdge* CompiledGraph::EdgeFrom(std::string_view from) const {
  auto found = edges_.find(from);
  return found == edges_.end() ? nullptr : found->second;
}

Result<std::string> CompiledGraph::Next(std::string_view from, const State& state) const {
  AG_ASSIGN_OR_RETURN(std::string target, Follow(from, state));
  return Settle(std::move(target), state);
}

Result<std::string> CompiledGraph::Settle(std::string target, const State& state) const {
  if (subgraphs_.empty()) return target;
  for (int hop = 0; hop < kSubgraphHopsMax; ++hop) {
    const std::string_view ended = EndedSubgraph(target);
    if (subgraphs_.contains(target)) {
      AG_ASSIGN_OR_RETURN(target, Follow(target + kPathSeparator + START, state));
    } else if (!ended.empty()) {
      AG_ASSIGN_OR_RETURN(target, Follow(std::string(ended), state));
    } else {
      return target;
    }
  }
  return GraphFailure("the way through the subgraphs never comes to a node");
}

Result<std::string> CompiledGraph::Follow(std::string_view from, const State& state) const {
  const OutgoingEdge* edge = EdgeFrom(from);
  if (edge == nullptr) return std::string(ScopeOf(from)) + END;
  if (!edge->conditional) return edge->targets[0];
  const std::string source = from == START ? "START" : "node \"" + std::string(from) + "\"";
  const AllocationScope scope;
  try {
    std::string target = edge->predicate(state);
    for (size_t i = 0; i < edge->targets.size(); ++i) {
      if (edge->labels[i] == target) return edge->targets[i];
    }
    return GraphFailure("the predicate after " + source + " chose \"" + target +
                        "\", which is not a target of its edge");
  } catch (...) {
    return GraphFailure("the predicate after " + source + " failed: " + CaughtUserFailure().text);
  }
}

Result<std::string> CompiledGraph::Jump(std::string_view from, std::string_view target,
                                        const State& state) const {
  std::string path = std::string(ScopeOf(from)) + std::string(target);
  if (target == END || FindNode(path) != nullptr || subgraphs_.contains(path)) {
    return Settle(std::move(path), state);
  }
  return GraphFailure("node \"" + std::string(from) + "\" jumps to \"" + std::string(target) +
                      "\", which is no node of the graph");
}

bool CompiledGraph::InterruptsBefore(std::string_view node) const {
  return Contains(definition_.interrupt_before, node);
}

bool CompiledGraph::InterruptsAfter(std::string_view node) const {
  return Contains(definition_.interrupt_after, node);
}

const ToolNode* CompiledGraph::ToolsOf(const Agent& agent) const {
  const Node* node = FindNode(agent.tool_node);
  return node == nullptr ? nullptr : std::get_if<ToolNode>(&node->kind);
}

std::vector<ModelUse> CompiledGraph::ModelUses() const {
  std::vector<ModelUse> uses;
  for (const Node& node : definition_.nodes) {
    const std::string asker = "node \"" + node.name + "\"";
    if (const auto* agent = std::get_if<Agent>(&node.kind)) {
      uses.push_back({.asker = asker, .model = agent->model});
    } else if (const auto* live = std::get_if<LiveAgent>(&node.kind)) {
      uses.push_back({.asker = asker, .model = live->model, .live = true});
    }
  }
  if (definition_.context && definition_.context->summarize) {
    uses.push_back(
        {.asker = "the summary of its context", .model = definition_.context->summary_model});
  }
  return uses;
}

const Node* CompiledGraph::live_root() const {
  const OutgoingEdge* first = EdgeFrom(START);
  if (first == nullptr || first->targets.size() != 1) return nullptr;
  const Node* node = FindNode(first->targets[0]);
  return node != nullptr && std::holds_alternative<LiveAgent>(node->kind) ? node : nullptr;
}

const LiveAgent* CompiledGraph::FindLiveAgent(std::string_view name) const {
  const Node* node = FindNode(name);
  return node == nullptr ? nullptr : std::get_if<LiveAgent>(&node->kind);
}

std::vector<std::string> CompiledGraph::HandoverTargets(std::string_view name) const {
  std::vector<std::string> targets;
  if (const LiveAgent* agent = FindLiveAgent(name)) targets = agent->sub_agents;
  for (const Node& node : definition_.nodes) {
    const auto* other = std::get_if<LiveAgent>(&node.kind);
    if (other == nullptr || node.name == name || Contains(targets, node.name)) continue;
    if (Contains(other->sub_agents, name)) targets.push_back(node.name);
  }
  return targets;
}

}  // namespace agent_graph::graph

#include "graph/flatten.h"

#include <utility>

namespace agent_graph::graph {
namespace {

class Flattening {
 public:
  explicit Flattening(std::vector<std::string>& subgraphs) : subgraphs_(subgraphs) {}

  void Add(const GraphDefinition& definition, const std::string& scope) {
    for (const StateField& field : definition.fields) AddField(field);
    for (const OutgoingEdge& edge : definition.edges) flat_.edges.push_back(Moved(edge, scope));
    for (const OutgoingEdge& jump : definition.go_to) flat_.go_to.push_back(Moved(jump, scope));
    for (const Node& node : definition.nodes) AddNode(node, scope);
    for (const std::string& name : definition.interrupt_before) {
      flat_.interrupt_before.push_back(scope + name);
    }
    for (const std::string& name : definition.interrupt_after) {
      flat_.interrupt_after.push_back(scope + name);
    }
  }

  GraphDefinition Take() && { return std::move(flat_); }

 private:
  void AddNode(const Node& node, const std::string& scope) {
    Node moved = node;
    moved.name = scope + node.name;
    if (const auto* subgraph = std::get_if<Subgraph>(&node.kind)) {
      subgraphs_.push_back(moved.name);
      Add(*subgraph->definition, moved.name + kPathSeparator);
      return;
    }
    if (auto* agent = std::get_if<Agent>(&moved.kind);
        agent != nullptr && !agent->tool_node.empty()) {
      agent->tool_node = scope + agent->tool_node;
    }
    flat_.nodes.push_back(std::move(moved));
  }

  // Predicates still use the subgraph's own names of their targets.
  static OutgoingEdge Moved(const OutgoingEdge& edge, const std::string& scope) {
    OutgoingEdge moved = edge;
    moved.from = scope + edge.from;
    moved.labels = edge.targets;
    for (std::string& target : moved.targets) target.insert(0, scope);
    return moved;
  }

  // All graphs share one state. The outer graph's declaration comes first and is the one that is
  // used.
  void AddField(const StateField& field) {
    for (const StateField& known : flat_.fields) {
      if (known.name == field.name) return;
    }
    flat_.fields.push_back(field);
  }

  std::vector<std::string>& subgraphs_;
  GraphDefinition flat_;
};

}  // namespace

GraphDefinition Flatten(const GraphDefinition& definition, std::vector<std::string>& subgraphs) {
  Flattening flattening(subgraphs);
  flattening.Add(definition, "");
  GraphDefinition flat = std::move(flattening).Take();
  flat.name = definition.name;
  flat.context = definition.context;
  return flat;
}

std::string_view ScopeOf(std::string_view path) {
  const size_t separator = path.rfind(kPathSeparator);
  return separator == std::string_view::npos ? "" : path.substr(0, separator + 1);
}

std::string_view EndedSubgraph(std::string_view path) {
  const std::string_view scope = ScopeOf(path);
  if (scope.empty() || path.substr(scope.size()) != END) return "";
  return scope.substr(0, scope.size() - 1);
}

}  // namespace agent_graph::graph

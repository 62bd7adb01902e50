// Drawings of a graph: as text, for Mermaid, and as SVG.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace agent_graph::graph {
class CompiledGraph;
}

namespace agent_graph::cli {

struct DrawnNode {
  std::string name;         // "START" and "END" stand for the ends of the graph
  std::string kind = {};    // agent, tools, function, …; empty for the ends
  std::string detail = {};  // the model of an agent, the tools of a tool node; may be empty
  size_t row = 0;           // distance from START
};

struct DrawnEdge {
  size_t from = 0;  // indexes of nodes
  size_t to = 0;
  bool conditional = false;
};

struct DrawnGraph {
  std::string name;
  std::vector<DrawnNode> nodes = {};  // START first, END last
  std::vector<DrawnEdge> edges = {};
};

DrawnGraph PlaceNodes(const graph::CompiledGraph& graph);

std::string DrawText(const DrawnGraph& graph);
std::string DrawMermaid(const DrawnGraph& graph);
std::string DrawSvg(const DrawnGraph& graph);

}  // namespace agent_graph::cli

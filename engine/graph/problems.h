// What makes a graph unusable, found before it ever runs.
#pragma once

#include <string>
#include <vector>

#include "graph/definition.h"

namespace agent_graph::graph {

// One sentence each, naming the node, edge, tool or field; empty when the graph is fine.
std::vector<std::string> FindProblems(const GraphDefinition& definition);

}  // namespace agent_graph::graph

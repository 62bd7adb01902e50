// Finds the problems that make a graph unusable, before it runs.
#pragma once

#include <string>
#include <vector>

#include "graph/definition.h"

namespace agent_graph::graph {

inline constexpr int kAttemptsMax = 100;  // bounds retry policies

// One sentence per problem, which names the node, edge, tool or field; empty if the graph is valid.
std::vector<std::string> FindProblems(const GraphDefinition& definition);

}  // namespace agent_graph::graph

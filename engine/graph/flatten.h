// Subgraphs are taken apart when a graph is compiled: their nodes become nodes of the whole, named
// by their path ("TEAM/WRITER"), so that runs, logs, traces, pauses and stops know nothing of them.
#pragma once

#include <string>
#include <string_view>

#include "graph/definition.h"

namespace agent_graph::graph {

inline constexpr char kPathSeparator = '/';

// The same graph without Subgraph nodes. The edges that lead into and out of them are kept: a
// subgraph's name stays a target, and its own START and END have paths, too. `subgraphs` gets the
// paths of those that were taken apart.
GraphDefinition Flatten(const GraphDefinition& definition, std::vector<std::string>& subgraphs);

// "TEAM/" of "TEAM/WRITER", "" of "WRITER".
std::string_view ScopeOf(std::string_view path);
// "TEAM" of "TEAM/__end__"; empty when the path is not the end of a subgraph.
std::string_view EndedSubgraph(std::string_view path);

}  // namespace agent_graph::graph

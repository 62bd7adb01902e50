// Flattens subgraphs when a graph is compiled: their nodes become nodes of the whole graph, named
// by their path ("TEAM/WRITER"), so that runs, logs, traces, pauses and stops need not know about
// subgraphs.
#pragma once

#include <string>
#include <string_view>

#include "graph/definition.h"

namespace agent_graph::graph {

inline constexpr char kPathSeparator = '/';

// The same graph without Subgraph nodes. Edges into and out of subgraphs are kept: the name of a
// subgraph remains a valid target, and its START and END also have paths. `subgraphs` receives the
// paths of the flattened subgraphs.
GraphDefinition Flatten(const GraphDefinition& definition, std::vector<std::string>& subgraphs);

// "TEAM/" for "TEAM/WRITER", "" for "WRITER".
std::string_view ScopeOf(std::string_view path);
// "TEAM" for "TEAM/__end__"; empty if the path is not the end of a subgraph.
std::string_view EndedSubgraph(std::string_view path);

}  // namespace agent_graph::graph

// Subgraphs are flattened when the graph is compiled (graph/flatten.h), so no run meets one.
#pragma once

#include "graph/definition.h"
#include "run/nodes/node_runner.h"

namespace agent_graph::run {

// Run of this runner fails with kInternal.
const NodeRunner& RunnerFor(const graph::Subgraph& kind);

}  // namespace agent_graph::run

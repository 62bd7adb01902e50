// Executes a function node: on the user pool, or on the run's fiber if the function never blocks.
#pragma once

#include "graph/definition.h"
#include "run/nodes/node_runner.h"

namespace agent_graph::run {

// After a failed Run the thread continues with a copy of its state, because the function may still
// be reading the old one.
const NodeRunner& RunnerFor(const graph::FunctionNode& kind);

}  // namespace agent_graph::run

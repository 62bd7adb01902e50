// Executes a node within its timeout and its retry policy.
#pragma once

#include "agent_graph/node.h"
#include "base/status.h"
#include "run/nodes/node_runner.h"

namespace agent_graph::run {

// Repeats the node after temporary failures, unless the client has already received a part of
// its answer. Logs each failed attempt. Call on the run's fiber.
Result<NodeResult> ExecuteNode(const NodeRun& run);

}  // namespace agent_graph::run

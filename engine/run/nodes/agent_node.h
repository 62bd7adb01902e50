// Executes an Agent node: one streamed model call.
#pragma once

#include "agent_graph/agent.h"
#include "run/nodes/node_runner.h"

namespace agent_graph::run {

// Run of this runner returns the reply as the only message of the result, or as the value of the
// agent's output field. Deltas of the reply are emitted as they arrive.
const NodeRunner& RunnerFor(const Agent& kind);

}  // namespace agent_graph::run

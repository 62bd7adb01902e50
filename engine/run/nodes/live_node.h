// Live agents are executed by live sessions (src/live), never by a run.
#pragma once

#include "agent_graph/live_agent.h"
#include "run/nodes/node_runner.h"

namespace agent_graph::run {

// Run of this runner fails with kGraph.
const NodeRunner& RunnerFor(const LiveAgent& kind);

}  // namespace agent_graph::run

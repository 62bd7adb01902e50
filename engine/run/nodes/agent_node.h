// Executes an Agent node: one streamed model call.
#pragma once

#include "agent_graph/node.h"
#include "base/status.h"
#include "run/log/run_log.h"
#include "run/nodes/emitter.h"
#include "run/run_environment.h"

namespace agent_graph::run {

// Returns the reply as the only message of the result. Its deltas are emitted as they arrive. Call
// on the run's fiber, which is suspended during the model call.
Result<NodeResult> RunAgentNode(const RunEnvironment& environment, const std::string& name,
                                const Agent& agent, const State& state, Emitter& emitter,
                                RunLog& log);

}  // namespace agent_graph::run

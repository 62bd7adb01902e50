// Executes an Agent: one streamed call of a model.
#pragma once

#include "agent_graph/node.h"
#include "base/status.h"
#include "run/emitter.h"
#include "run/run_environment.h"
#include "run/run_log.h"

namespace agent_graph::run {

// The reply, as the one message of the result. Its pieces go to the emitter as they arrive.
Result<NodeResult> RunAgentNode(const RunEnvironment& environment, const std::string& name,
                                const Agent& agent, const State& state, Emitter& emitter,
                                RunLog& log);

}  // namespace agent_graph::run

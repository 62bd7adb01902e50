// Executes a function node: on the user pool, or on the run's fiber if the function never blocks.
#pragma once

#include <memory>
#include <string>

#include "agent_graph/node.h"
#include "base/status.h"
#include "run/nodes/emitter.h"
#include "run/run_environment.h"

namespace agent_graph::run {

// After an error the function may still be reading `state`, which must not change any more.
Result<NodeResult> RunFunctionNode(const RunEnvironmentPtr& environment, const std::string& name,
                                   const graph::FunctionNode& node,
                                   std::shared_ptr<const State> state, Emitter& emitter);

}  // namespace agent_graph::run

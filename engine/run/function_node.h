// Executes a function node: a user's function on the user pool or, when it never blocks, here.
#pragma once

#include <memory>
#include <string>

#include "agent_graph/node.h"
#include "base/status.h"
#include "run/emitter.h"
#include "run/run_environment.h"

namespace agent_graph::run {

// After a failure the function may still be reading `state`: it must not be changed any more.
Result<NodeResult> RunFunctionNode(const RunEnvironmentPtr& environment, const std::string& name,
                                   const graph::FunctionNode& node,
                                   std::shared_ptr<const State> state, Emitter& emitter);

}  // namespace agent_graph::run

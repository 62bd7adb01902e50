// The execution state of a thread of AgentFlow.
#pragma once

#include <string>

#include "agent_graph/json_fwd.h"

namespace agent_graph::admin::agentflow {

// Returns the text for Snapshot::execution_json of a thread with this `execution_meta`. A run that
// was in progress is over; a paused thread resumes at its node.
std::string ExecutionOf(const json& execution_meta);

}  // namespace agent_graph::admin::agentflow

// The states of runs as text.
#pragma once

#include <string_view>

#include "state/runs.h"

namespace agent_graph::state {

// "queued", "running", "interrupted", "done", "error", "stopped".
std::string_view RunStateName(RunState state);
// The state of a run that ended with this status; kError for an unknown one.
RunState RunStateOf(std::string_view status);

}  // namespace agent_graph::state

// A run compared with the one before it of the same set.
#pragma once

#include "agent_graph/json_fwd.h"
#include "evals/directory.h"

namespace agent_graph::evals {

// {note, summary, rows}; cases that only one of the two has are left out.
json RegressionJson(const Run& run, const Report& report, const Run& previous_run,
                    const Report& previous);

}  // namespace agent_graph::evals

// Compares a run with the previous run of the same set.
#pragma once

#include "agent_graph/json_fwd.h"
#include "evals/directory.h"

namespace agent_graph::evals {

// Returns {note, summary, rows}. Cases that only one of the runs contains are left out.
json RegressionJson(const Run& run, const Report& report, const Run& previous_run,
                    const Report& previous);

}  // namespace agent_graph::evals

// A run compared with the one before it of the same set.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "evals/directory.h"

namespace agent_graph::evals {

// {note, summary, rows}; cases that only one of the two has are left out.
nlohmann::json RegressionJson(const Run& run, const Report& report, const Run& previous_run,
                              const Report& previous);

}  // namespace agent_graph::evals

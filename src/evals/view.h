// Writes the JSON of the evaluation routes: lists and reports, formatted for display.
#pragma once

#include <string>
#include <vector>

#include "evals/directory.h"

namespace agent_graph::evals {

// {"runs":[{id, name, run, rate, status, cases, ago}, …]}. `now` is in Unix seconds.
std::string ListJson(const std::vector<Run>& runs, double now);

// {title, sub, rate, status, threshold, stats, cases, regression}
std::string RunJson(const ReportDirectory::Found& found);

}  // namespace agent_graph::evals

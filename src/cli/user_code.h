// Runs code that loads a graph, so that a crash of the graph does not end agent-graph.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"

namespace agent_graph::cli {

// Calls `function` in a child process and returns its result: a text of at most 16 MiB. If the
// graph crashes, ends the process or hangs, the failure names `graph`, its file, and says so. What
// the graph prints goes to standard error.
Result<std::string> WithUserCode(const std::string& graph,
                                 const std::function<Result<std::string>()>& function);

}  // namespace agent_graph::cli

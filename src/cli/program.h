// The program agent-graph: finds the command, shows help and versions, reports failures.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace agent_graph::cli {

// Returns the exit code: 0, 1 if the command failed, 2 if the arguments are wrong.
int RunProgram(const std::vector<std::string>& arguments, const Streams& streams);

}  // namespace agent_graph::cli

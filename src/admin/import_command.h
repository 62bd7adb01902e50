// The command `import` of agent-graph-admin.
#pragma once

#include <string>

#include "admin/output.h"

namespace agent_graph::admin {

// Both execute an import, write how much was copied, and return the exit status. They block.

// From a state directory into a database of PostgreSQL.
int RunLevelImport(const std::string& directory, const std::string& database, const Output& output);
// From a database of AgentFlow into a database of PostgreSQL, or a state directory. The status is
// also 1 if something could not be carried over.
int RunAgentFlowImport(const std::string& url, const std::string& target, const Output& output);

}  // namespace agent_graph::admin

// Maintenance of a database of PostgreSQL: its tables and what they contain.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "state/maintenance.h"
#include "state/postgres/database/connection.h"

namespace agent_graph::admin {

// True if `target` names a database: it is a URL, or a file, which is then a service.json.
bool NamesDatabase(const std::string& target);

// Returns `target` if it is a URL, else the URL of its checkpointer. kInvalidArgument: the
// checkpointer is no PostgreSQL.
Result<std::string> DatabaseUrlOf(const std::string& target);

// Options for a connection whose statements have no time limit.
state::postgres::ConnectionOptions MaintenanceOptions(const std::string& url);

// Brings the tables to the version of this build and calls `done` after each step with its number
// and name. Hosts may be running. Blocks.
Status MigrateDatabase(const std::string& url,
                       const std::function<void(int number, const char* name)>& done);

// Reads every row, and compares the rows with each other. Blocks.
Result<state::VerifyReport> VerifyDatabase(const std::string& url);

}  // namespace agent_graph::admin

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

// The URL that `target` is, or that its checkpointer has. kInvalidArgument: it has another one.
Result<std::string> DatabaseUrlOf(const std::string& target);

// Of a connection whose statements may take as long as they need.
state::postgres::ConnectionOptions MaintenanceOptions(const std::string& url);

// Brings the tables to the version of this build and calls `done` after each step with its number
// and name. Hosts may be running. Blocks.
Status MigrateDatabase(const std::string& url,
                       const std::function<void(int number, const char* name)>& done);

// Reads every row, and compares the rows with each other. Blocks.
Result<state::VerifyReport> VerifyDatabase(const std::string& url);

}  // namespace agent_graph::admin

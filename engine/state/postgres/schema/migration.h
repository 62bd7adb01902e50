// The version of the tables in a database, and the migration to this build's version.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "base/status.h"
#include "state/postgres/database/connection.h"
#include "state/postgres/schema/steps.h"

namespace agent_graph::state::postgres {

struct SchemaVersion {
  int number = 0;       // number of the latest step; 0: no tables
  int usable_from = 0;  // see SchemaStep
};

Result<SchemaVersion> ReadSchemaVersion(Connection& connection);

// kNotConfigured with a line for the operator if this build cannot use the tables: they are
// missing, older, or newer than it permits.
Status CheckSchema(Connection& connection, std::span<const SchemaStep> steps = SchemaSteps());

// kNotConfigured with a line for the operator if a table or a sequence that the steps have made is
// missing: it was dropped, or not restored. Tables of another version are not checked. A host does
// not call it, because requests that do not need the table can still be served.
Status CheckTables(Connection& connection, std::span<const SchemaStep> steps = SchemaSteps());

// kNotConfigured with a line for the operator if the role lacks a right that the service needs,
// such as one on a table that the latest step has added. Without this check each request that needs
// the right would fail and make the host connect again. Tables of a newer version are not checked.
Status CheckRights(Connection& connection);

// Executes the missing steps, each in a transaction of its own, and calls `done` after each. Only
// one process migrates at a time; another one waits for it for up to 30 seconds. The role must own
// the schema agent_graph, or have the right to create it. Fails like CheckTables at the
// end.
Status MigrateSchema(Connection& connection,
                     const std::function<void(const SchemaStep& step)>& done = {},
                     std::span<const SchemaStep> steps = SchemaSteps());

}  // namespace agent_graph::state::postgres

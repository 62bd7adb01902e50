// Keeps other writers away from a database that an import has not filled yet.
#pragma once

#include "base/status.h"
#include "state/postgres/database/connection.h"

namespace agent_graph::state::postgres {

// kNotConfigured with a line for the operator if an import (RowImport) is not complete. New threads
// and memories would get the numbers of imported ones, and their rows would mix.
// Ignores imports that have written nothing, and those of the version before: hosts may have used
// the database for long.
//
// A writer calls this after Membership::Join: an import that begins later fences it.
Status CheckImportsFinished(Connection& connection);

}  // namespace agent_graph::state::postgres

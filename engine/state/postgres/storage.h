// The PostgreSQL backend's entry in the factory: "postgres".
#pragma once

#include <memory>

#include "state/calls/executor.h"
#include "state/options.h"

namespace agent_graph::state {

// The database of options.database_url. Its tables must exist: see MigrateSchema.
std::unique_ptr<Storage> MakePostgresStorage(const StateOptions& options);

}  // namespace agent_graph::state

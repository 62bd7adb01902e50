// The PostgreSQL backend's entry in the factory: "postgres".
#pragma once

#include <memory>

#include "state/calls/executor.h"
#include "state/options.h"
#include "state/postgres/database/connection.h"

namespace agent_graph::state {

// The database of options.database_url. Its tables must exist: see MigrateSchema.
std::unique_ptr<Storage> MakePostgresStorage(const StateOptions& options);
// The same. `counters` count what its reads and writes need, without beats and housekeeping.
std::unique_ptr<Storage> MakeCountedPostgresStorage(
    const StateOptions& options, std::shared_ptr<postgres::ConnectionCounters> counters);

}  // namespace agent_graph::state

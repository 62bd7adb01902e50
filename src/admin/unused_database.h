// Finds hosts that use a database.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "state/postgres/database/connection.h"

namespace agent_graph::admin {

// kBusy: a host uses the database. Otherwise returns the number of hosts that were not stopped in
// order, so that the database lists them as living; it then takes three seconds to see that they
// are gone.
Result<size_t> CheckUnused(state::postgres::Connection& connection);

}  // namespace agent_graph::admin

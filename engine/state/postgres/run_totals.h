// Totals of runs, of which each instance has a row.
#pragma once

#include "base/status.h"
#include "state/postgres/database/connection.h"

namespace agent_graph::state::postgres {

// Adds the rows of instances that are dead, or gone, to the row without an instance, so that they
// do not become more and more. The sum of all rows stays.
Status FoldRunTotals(Connection& connection);

}  // namespace agent_graph::state::postgres

// Lists the rows that requests read and change, so that a database that several hosts write can
// lock and read them in one round trip.
#pragma once

#include <string>

#include "state/calls/executor.h"
#include "state/requests.h"
#include "state/rows/database.h"

namespace agent_graph::state {

// Adds what a mutating request uses. A request that cannot be decoded adds nothing.
void AddUse(const Request& request, BatchUse& use);

// True for the beginning of a run on a free thread, and for the appends and the end of a run.
bool IsOfRun(const Request& request);

}  // namespace agent_graph::state

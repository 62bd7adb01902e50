// Faults of the rows that are kept below the number of a conversation thread.
#pragma once

#include "state/rows/keys.h"
#include "state/verify/faults.h"

namespace agent_graph::state {

bool IsBelowThread(keys::Table table);

// Examines all such tables together, thread by thread. `examination.threads` must be complete.
void FindThreadFaults(Examination& examination);

}  // namespace agent_graph::state

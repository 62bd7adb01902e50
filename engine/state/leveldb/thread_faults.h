// Faults of the rows that are kept below the number of a conversation thread.
#pragma once

#include "state/leveldb/faults.h"
#include "state/leveldb/keys.h"

namespace agent_graph::state {

bool IsBelowThread(keys::Table table);

// Goes through all tables of that kind together, thread by thread. `examination.threads` is known.
void FindThreadFaults(Examination& examination);

}  // namespace agent_graph::state

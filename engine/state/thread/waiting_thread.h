// Finds the thread that waits for the result of a call that was handed to a client.
#pragma once

#include "base/status.h"
#include "state/requests.h"
#include "state/rows/database.h"
#include "state/types.h"

namespace agent_graph::state {

// Returns kNotFound unless exactly one thread of the scope waits for all of the calls.
Result<WaitingThread> FindWaitingThread(const DatabaseSnapshot& snapshot,
                                        const WaitingThreadQuery& query);

}  // namespace agent_graph::state

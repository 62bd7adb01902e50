// Reads the log entries of a thread's latest runs, for debugging.
#pragma once

#include "base/status.h"
#include "state/requests.h"
#include "state/rows/database.h"
#include "state/rows/keys.h"

namespace agent_graph::state {

// Starts at the newest entry and stops at the limits of `read`.
Result<RunTraces> ReadRunTraces(const DatabaseSnapshot& snapshot, const keys::ThreadKey& thread,
                                const ReadRunsRequest& read);

}  // namespace agent_graph::state

// What a thread's latest runs did, read from the log for debugging.
#pragma once

#include "base/status.h"
#include "state/requests.h"
#include "state/rows/database.h"
#include "state/rows/keys.h"

namespace agent_graph::state {

// Reads backwards from the newest entry, up to the limits of `read`.
Result<RunTraces> ReadRunTraces(const DatabaseSnapshot& snapshot, const keys::ThreadKey& thread,
                                const ReadRunsRequest& read);

}  // namespace agent_graph::state

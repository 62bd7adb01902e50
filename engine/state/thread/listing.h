// Pages of threads, newest first, of one owner or of all.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "state/calls/operations.h"
#include "state/rows/database.h"
#include "state/types.h"

namespace agent_graph::state {

// Cost: the rows of the page plus those that offset and search skip. A search that skips too many
// rows returns what it has found and a cursor. Returns kInvalidArgument for a malformed cursor.
Result<ThreadPage> ReadThreadPage(const DatabaseSnapshot& snapshot, const ListThreadsRequest& body);

// Returns the number of threads to skip before the page: its offset, or the rest in its cursor.
uint64_t ThreadsToSkip(const PageRequest& page);
// Returns the cursor of the page that follows a thread.
std::string CursorBehind(const ThreadRecord& thread);

}  // namespace agent_graph::state

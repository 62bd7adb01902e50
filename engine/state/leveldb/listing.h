// Pages of threads, newest first, of one row owner or of all.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "state/leveldb/database.h"
#include "state/types.h"
#include "state/wire/protocol.h"

namespace agent_graph::state {

// Cost: the rows of the page, plus those that offset and search pass over. A search that passed
// over too many returns what it has and a cursor. kInvalidArgument for a cursor that is not ours.
Result<ThreadPage> ReadThreadPage(const DatabaseSnapshot& snapshot,
                                  const wire::ListThreadsBody& body);

// How many threads a page passes over before it begins: its offset, and what its cursor has left.
uint64_t ThreadsToSkip(const PageRequest& page);
// The cursor of the page behind a thread.
std::string CursorBehind(const ThreadRecord& thread);

}  // namespace agent_graph::state

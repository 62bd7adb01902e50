// Reads of memory rows. MemoryWriter writes them.
#pragma once

#include "state/maintenance.h"
#include "state/memories.h"
#include "state/pack/fields.h"
#include "state/rows/database.h"
#include "state/rows/keys.h"
#include "state/thread/thread_read.h"

namespace agent_graph::state {

// Returns kNotFound if there is no such memory that the caller may access.
Result<MemoryRecord> ReadMemory(const DatabaseSnapshot& snapshot, const MemoryName& name);

// Cost: the rows of the page plus those that the filter skips. A page that skips too many rows ends
// early, with a cursor.
Result<MemoryPage> ReadMemoryPage(const DatabaseSnapshot& snapshot,
                                  const ListMemoriesRequest& list);

// Cost: like a page of all memories, plus reading their vectors.
Result<UnembeddedPage> ReadUnembedded(const DatabaseSnapshot& snapshot,
                                      const ListUnembeddedRequest& list);

}  // namespace agent_graph::state

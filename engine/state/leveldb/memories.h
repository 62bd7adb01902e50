// Reads of memory rows. The write side is store_memories.cc.
#pragma once

#include "state/leveldb/database/database.h"
#include "state/leveldb/rows/keys.h"
#include "state/leveldb/thread_read.h"
#include "state/maintenance.h"
#include "state/memories.h"
#include "state/pack/fields.h"

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

// Reads of memory rows. The write side is store_memories.cc.
#pragma once

#include "state/leveldb/database.h"
#include "state/leveldb/keys.h"
#include "state/leveldb/thread_read.h"
#include "state/memories.h"
#include "state/pack/fields.h"
#include "state/reembedding.h"
#include "state/wire/memory_fields.h"

namespace agent_graph::state::keys {

// The value of a kMemoryPlace row.
template <pack::SameAs<MemoryKey> T>
auto Fields(T& key) {
  return std::tie(key.owner, key.number);
}

}  // namespace agent_graph::state::keys

namespace agent_graph::state {

// True if a call with this scope and agent may access the record.
bool MayTouch(const Scope& scope, const std::string& agent_id, const MemoryRecord& record);

// Bytes that the record's texts take in a reply.
size_t TextBytes(const MemoryRecord& record);

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

// The rows of memories as they are read. The write thread's side is store_memories.cc.
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

// True when a call with this scope and agent may touch the record.
bool MayTouch(const Scope& scope, const std::string& agent_id, const MemoryRecord& record);

// What the record's texts take in an answer.
size_t TextBytes(const MemoryRecord& record);

// kNotFound when there is none that may be touched.
Result<MemoryRecord> ReadMemory(const DatabaseSnapshot& snapshot, const MemoryName& name);

// Cost: the rows of the page and those that the filter passes over. A page that passed over too
// many ends early, with a cursor.
Result<MemoryPage> ReadMemoryPage(const DatabaseSnapshot& snapshot, const ListMemories& list);

// Cost: that of a page of all memories, and reading their vectors.
Result<UnembeddedPage> ReadUnembedded(const DatabaseSnapshot& snapshot, const ListUnembedded& list);

}  // namespace agent_graph::state

// Executes the reading operations, each on its own snapshot of the database.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "state/leveldb/clients.h"
#include "state/leveldb/database.h"
#include "state/leveldb/rows.h"
#include "state/search/memory_index.h"
#include "state/types.h"
#include "state/wire/protocol.h"

namespace agent_graph::state {

// Bounds of one answer. A page that reaches the byte bound ends there, with at least one item.
inline constexpr uint64_t kPageItemsMax = 1000;
inline constexpr size_t kPageBytesMax = 8 * 1024 * 1024;
inline constexpr size_t kWindowBytesMax = 32 * 1024 * 1024;
// Rows a page may pass over (offset, search); a cursor goes on from there.
inline constexpr uint64_t kRowsPassedMax = 100'000;

// Thread-safe; for the read pool.
class Reader {
 public:
  Reader(const Database& database, MemoryIndex& memories)
      : database_(database), memories_(memories) {}

  // The packed reply body of a reading operation whose body stands at `unpacker`.
  Result<std::string> Execute(wire::Operation operation, pack::Unpacker& unpacker) const;
  // The packed reply body of a mutating operation that answers with a thread's state.
  Result<std::string> Load(const ReplyRow& reply) const;

  // How an operation may delay others: hardly, by passing over many rows, by comparing vectors.
  enum class Cost { kSmall, kRows, kVectors };
  static Cost CostOf(wire::Operation operation, pack::Unpacker unpacker);

 private:
  const Database& database_;
  MemoryIndex& memories_;
};

}  // namespace agent_graph::state

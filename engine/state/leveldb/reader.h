// Executes the reading operations, each on its own snapshot of the database.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "state/leveldb/clients.h"
#include "state/leveldb/database.h"
#include "state/leveldb/listing_heads.h"
#include "state/leveldb/maintenance.h"
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
  // Backups are written below `backup_directory`; empty: none.
  Reader(const Database& database, ListingHeads& heads, MemoryIndex& memories,
         std::string backup_directory)
      : database_(database),
        heads_(heads),
        memories_(memories),
        backup_directory_(std::move(backup_directory)) {}

  // The packed reply body of a reading operation whose body stands at `unpacker`.
  Result<std::string> Execute(wire::Operation operation, pack::Unpacker& unpacker) const;
  // The packed reply body of a mutating operation that answers with a thread's state.
  Result<std::string> Load(const ReplyRow& reply) const;

  // Ends what reads everything.
  void Stop() { stopping_ = true; }

  // How an operation may delay others: hardly, by passing over many rows, by comparing vectors,
  // by reading everything.
  enum class Cost { kSmall, kRows, kVectors, kEverything };
  static Cost CostOf(wire::Operation operation, pack::Unpacker unpacker);

 private:
  Result<ThreadPage> ListThreads(const wire::ListThreadsBody& body) const;
  Result<BackupReport> MakeBackup(const wire::BackupBody& body) const;

  const Database& database_;
  ListingHeads& heads_;
  MemoryIndex& memories_;
  const std::string backup_directory_;
  std::atomic<bool> stopping_{false};
};

}  // namespace agent_graph::state

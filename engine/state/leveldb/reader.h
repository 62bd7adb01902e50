// Executes read operations, each on its own snapshot of the database.
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

// Limits of one reply. A page that reaches the byte limit ends there, with at least one item.
inline constexpr uint64_t kPageItemsMax = 1000;
inline constexpr size_t kPageBytesMax = 8 * 1024 * 1024;
inline constexpr size_t kWindowBytesMax = 32 * 1024 * 1024;
// Maximum number of rows that a page skips (offset, search); its cursor continues from there.
inline constexpr uint64_t kRowsPassedMax = 100'000;

// Thread-safe. Calls block; they are made on the session's read threads.
class Reader {
 public:
  // Backups are written below `backup_directory`; empty: backups are not available.
  Reader(const Database& database, ListingHeads& heads, MemoryIndex& memories,
         std::string backup_directory)
      : database_(database),
        heads_(heads),
        memories_(memories),
        backup_directory_(std::move(backup_directory)) {}

  // Executes the read operation whose body is at `unpacker`; returns the packed reply body.
  Result<std::string> Execute(wire::Operation operation, pack::Unpacker& unpacker) const;
  // Reads the thread state for the reply to a mutating operation; returns the packed reply body.
  Result<std::string> Load(const ReplyRow& reply) const;

  // Interrupts operations that read everything.
  void Stop() { stopping_ = true; }

  // How much an operation may delay others: hardly, by skipping many rows, by comparing vectors, or
  // by reading the whole database.
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

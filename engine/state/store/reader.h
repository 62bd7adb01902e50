// Executes read operations, each on its own snapshot of the database.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "state/calls/operations.h"
#include "state/rows/database.h"
#include "state/rows/rows.h"
#include "state/run_watch.h"
#include "state/runs.h"
#include "state/search/memory_index.h"
#include "state/store/clients.h"
#include "state/thread/listing_heads.h"
#include "state/thread/thread_read.h"
#include "state/types.h"

namespace agent_graph::state {

// Thread-safe. Calls block; except for LoadIfLittle they are made on the executor's read threads.
class Reader {
 public:
  // Backups are written below `backup_directory`; empty: backups are not available.
  // `longest_wait_micros`: see RunTotals.
  Reader(const Database& database, ListingHeads& heads, MemoryIndex& memories,
         std::string backup_directory, const std::atomic<int64_t>& longest_wait_micros)
      : database_(database),
        heads_(heads),
        memories_(memories),
        backup_directory_(std::move(backup_directory)),
        longest_wait_micros_(longest_wait_micros) {}

  // Executes the read operation whose body is at `unpacker`; returns the packed reply body.
  Result<std::string> Execute(Operation operation, pack::Unpacker& unpacker) const;
  // Reads without waiting for entries.
  Result<FollowRunReply> Follow(const FollowRunRequest& follow) const;
  // How far the run is. Does not set the reply's `piece`.
  Result<WatchRunReply> Watch(const WatchRunRequest& watch) const;
  // Reads the thread state for the reply to a mutating operation; returns the packed reply body.
  // `known`: a view of the thread; null: the database is read.
  Result<std::string> Load(const ReplyRow& reply,
                           std::unique_ptr<DatabaseView> known = nullptr) const;
  // Like Load for a run that begins, if it has little to read: so little that a thread which must
  // not be held up may call it. Otherwise nullopt.
  std::optional<Result<std::string>> LoadIfLittle(const ReplyRow& reply) const;

  // Interrupts operations that read everything.
  void Stop() { stopping_ = true; }

  // The work by which an operation may delay others: almost none, skipping many rows, comparing
  // vectors, or reading the whole database.
  enum class Cost { kSmall, kRows, kVectors, kEverything };
  static Cost CostOf(Operation operation, pack::Unpacker unpacker);

 private:
  // The thread of a reply.
  static Result<ThreadRow> ThreadOf(const DatabaseSnapshot& snapshot, const ReplyRow& reply);
  static Result<std::string> LoadBegun(const DatabaseSnapshot& snapshot, const ReplyRow& reply,
                                       const ThreadRow& thread, BegunWindow window,
                                       size_t bytes_max);
  Result<RunTotals> GetRunTotals() const;
  Result<ThreadPage> ListThreads(const ListThreadsRequest& body) const;
  Result<BackupReport> MakeBackup(const BackupRequest& body) const;

  const Database& database_;
  ListingHeads& heads_;
  MemoryIndex& memories_;
  const std::string backup_directory_;
  const std::atomic<int64_t>& longest_wait_micros_;
  std::atomic<bool> stopping_{false};
};

}  // namespace agent_graph::state

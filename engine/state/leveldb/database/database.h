// Wrapper of LevelDB for the state service: on disk, or in memory for checkpointer "memory".
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace leveldb {
class Cache;
class DB;
class Env;
class FilterPolicy;
class Iterator;
class Snapshot;
class WriteBatch;
}  // namespace leveldb

namespace agent_graph::state {

class DiskEnv;
class FolderWatch;
class ReserveFile;
class SyncedMarks;

struct DatabaseOptions {
  bool keeps_reserve = false;  // see ReserveFile
  bool creates = true;         // create a missing database
};

// An open database. Thread-safe; calls may block on the disk. Destroy all snapshots and cursors
// first.
class Database {
 public:
  // Opens the database, or creates it. Call from a thread with signals blocked: LevelDB starts a
  // background thread that inherits the signal mask. Returns kBusy if another process still has it
  // open, kDataLoss if data that was written is missing or damaged.
  static Result<std::unique_ptr<Database>> OpenDirectory(const std::string& directory,
                                                         DatabaseOptions options = {});
  static Result<std::unique_ptr<Database>> OpenMemory();
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Returns nullopt if the row does not exist. `snapshot` null: the newest state.
  Result<std::optional<std::string>> Get(const std::string& key,
                                         const leveldb::Snapshot* snapshot) const;
  // Calls `row(key, value)` for each key in [begin, end), in ascending order, until it returns
  // false.
  Status Scan(const std::string& begin, const std::string& end, const leveldb::Snapshot* snapshot,
              const std::function<bool(std::string_view key, std::string_view value)>& row) const;
  // Like Scan, in descending order.
  Status ScanBackwards(
      const std::string& begin, const std::string& end, const leveldb::Snapshot* snapshot,
      const std::function<bool(std::string_view key, std::string_view value)>& row) const;
  // After a failure every later write fails too, until the database is reopened; reads still work.
  // Also fails if the files have been moved or removed; see FolderWatch.
  Status Write(leveldb::WriteBatch& batch, bool sync);

  // Null for a database in memory.
  const std::shared_ptr<const FolderWatch>& files() const { return files_; }
  // True if the disk is full: then only make writes that free space.
  bool low_on_space() const;
  // Checks for free space again and syncs the marks of synced bytes. Call about once a second, on a
  // thread that may block on the disk.
  void Tend();
  // Makes a compaction that waits for space fail; all later writes fail with it.
  void StopWaiting();
  // Checks, without LevelDB, that the disk accepts writes.
  Status CheckWritable() const;
  // Rewrites the tables between two keys, both inclusive, to drop deleted rows. Blocks.
  void Compact(const std::string& first, const std::string& last);
  // Must be called after LevelDB's repair, before the database is used. The repair leaves all
  // tables at level 0, where Get prefers the table with the highest number. A compaction may have
  // given old rows a table with a higher number than that of newer rows. Merging keeps the newest
  // version of each key.
  Status MergeTables();

 private:
  friend class DatabaseCursor;
  friend class DatabaseSnapshot;
  Database();
  static Result<std::unique_ptr<Database>> Open(const std::string& path, DatabaseOptions choice,
                                                std::unique_ptr<Database> database);

  std::shared_ptr<const FolderWatch> files_;
  std::shared_ptr<ReserveFile> reserve_;  // null: no reserve
  std::shared_ptr<SyncedMarks> marks_;    // null in memory
  std::unique_ptr<DiskEnv> disk_;         // null in memory
  std::unique_ptr<leveldb::Env> env_;
  std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  std::unique_ptr<leveldb::DB> db_;
};

// A consistent view of the database for one read.
class DatabaseSnapshot {
 public:
  explicit DatabaseSnapshot(const Database& database);
  ~DatabaseSnapshot();
  DatabaseSnapshot(const DatabaseSnapshot&) = delete;
  DatabaseSnapshot& operator=(const DatabaseSnapshot&) = delete;

  Result<std::optional<std::string>> Get(const std::string& key) const {
    return database_.Get(key, snapshot_);
  }
  Status Scan(const std::string& begin, const std::string& end,
              const std::function<bool(std::string_view key, std::string_view value)>& row) const {
    return database_.Scan(begin, end, snapshot_, row);
  }
  Status ScanBackwards(
      const std::string& begin, const std::string& end,
      const std::function<bool(std::string_view key, std::string_view value)>& row) const {
    return database_.ScanBackwards(begin, end, snapshot_, row);
  }

 private:
  friend class DatabaseCursor;
  const Database& database_;
  const leveldb::Snapshot* snapshot_;
};

// Iterates over the keys in [begin, end) of a snapshot, in ascending order; for callers that read
// several ranges in parallel.
class DatabaseCursor {
 public:
  DatabaseCursor(const DatabaseSnapshot& snapshot, const std::string& begin, std::string end);
  ~DatabaseCursor();
  DatabaseCursor(DatabaseCursor&&) noexcept;
  DatabaseCursor& operator=(DatabaseCursor&&) = delete;

  bool Valid() const;
  std::string_view key() const;
  std::string_view value() const;
  void Next();
  // The error that made the cursor invalid; Ok at the end of the range.
  Status status() const;

 private:
  std::unique_ptr<leveldb::Iterator> iterator_;
  const std::string end_;
};

}  // namespace agent_graph::state

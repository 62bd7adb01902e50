// LevelDB as the state service uses it: on disk, or in memory for checkpointer "memory".
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
  bool creates = true;         // when there is none
};

// Thread-safe. All iterators and views must be gone before it is destroyed.
class Database {
 public:
  // Opens or creates the database. Call from a thread with signals blocked: LevelDB starts a
  // background thread that inherits the mask. kBusy while another process still has it open,
  // kDataLoss when something that was written is missing or damaged.
  static Result<std::unique_ptr<Database>> OpenDirectory(const std::string& directory,
                                                         DatabaseOptions options = {});
  static Result<std::unique_ptr<Database>> OpenMemory();
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // nullopt: no such row. `snapshot` null: the newest state.
  Result<std::optional<std::string>> Get(const std::string& key,
                                         const leveldb::Snapshot* snapshot) const;
  // Calls `row(key, value)` for each key in [begin, end), in order, until it returns false.
  Status Scan(const std::string& begin, const std::string& end, const leveldb::Snapshot* snapshot,
              const std::function<bool(std::string_view key, std::string_view value)>& row) const;
  // The same from the last key down to the first.
  Status ScanBackwards(
      const std::string& begin, const std::string& end, const leveldb::Snapshot* snapshot,
      const std::function<bool(std::string_view key, std::string_view value)>& row) const;
  // Once this has failed every later write fails too, until the database is opened again. Reads go
  // on. Fails as well when the files are no longer where they were; see FolderWatch.
  Status Write(leveldb::WriteBatch& batch, bool sync);

  // Null in memory.
  const std::shared_ptr<const FolderWatch>& files() const { return files_; }
  // The disk is full: only writes that free space should follow.
  bool low_on_space() const;
  // Looks for space again, and brings the marks of what was synced to the disk. To be called about
  // once a second, on a thread that may wait for the disk.
  void Tend();
  // A compaction that waits for space fails, and with it all writes.
  void StopWaiting();
  // The disk takes writes, as far as can be seen without LevelDB.
  Status CheckWritable() const;
  // Rewrites the tables between two keys, both included, without their deleted rows. Blocks.
  void Compact(const std::string& first, const std::string& last);
  // What a database needs after LevelDB's repair, before it is used. That leaves all tables at
  // level 0, where Get believes the one with the highest number; one that a compaction wrote of old
  // rows may have a higher number than one with newer rows. Merged, the newest row of each key is
  // left.
  Status MergeTables();

 private:
  friend class DatabaseCursor;
  friend class DatabaseSnapshot;
  Database();
  static Result<std::unique_ptr<Database>> Open(const std::string& path, DatabaseOptions choice,
                                                std::unique_ptr<Database> database);

  std::shared_ptr<const FolderWatch> files_;
  std::shared_ptr<ReserveFile> reserve_;  // null: none
  std::shared_ptr<SyncedMarks> marks_;    // null in memory
  std::unique_ptr<DiskEnv> disk_;         // null in memory
  std::unique_ptr<leveldb::Env> env_;
  std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  std::unique_ptr<leveldb::DB> db_;
};

// A consistent view for the length of one read.
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

// Goes through the keys in [begin, end) of a snapshot, in order, for who reads several ranges
// together.
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
  // Why it is not valid any more.
  Status status() const;

 private:
  std::unique_ptr<leveldb::Iterator> iterator_;
  const std::string end_;
};

}  // namespace agent_graph::state

// Wrapper of LevelDB for the state service: on disk, or in memory for checkpointer "memory".
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "state/maintenance.h"
#include "state/rows/database.h"

namespace leveldb {
class Cache;
class DB;
class Env;
class FilterPolicy;
class WriteBatch;
}  // namespace leveldb

namespace agent_graph::state {

class DiskEnv;
class FolderWatch;
class LevelReads;
class OpenViews;
class ReadGate;
class ReserveFile;
class SyncedEnv;
class SyncedMarks;

struct DatabaseOptions {
  bool keeps_reserve = false;  // see ReserveFile
  bool creates = true;         // create a missing database
  bool is_copy = false;        // gets its rows in order, and little memory
};

// An open database. Thread-safe; calls may block on the disk.
class LevelDatabase : public Database {
 public:
  // Opens the database, or creates it. Call from a thread with signals blocked: LevelDB starts a
  // background thread that inherits the signal mask. Returns kBusy if another process still has it
  // open, kDataLoss if data that was written is missing or damaged.
  static Result<std::unique_ptr<LevelDatabase>> OpenDirectory(const std::string& directory,
                                                              DatabaseOptions options = {});
  // Opens an existing database without changing any of its files, so that it may be a copy that
  // this user cannot write. Writes fail. Needs as much memory as the database has logs, 64 MiB at
  // most. Errors are those of OpenDirectory; kNotFound: there is no database.
  static Result<std::unique_ptr<LevelDatabase>> OpenReadOnly(const std::string& directory);
  static Result<std::unique_ptr<LevelDatabase>> OpenMemory();
  ~LevelDatabase() override;
  LevelDatabase(const LevelDatabase&) = delete;
  LevelDatabase& operator=(const LevelDatabase&) = delete;

  Result<std::optional<std::string>> Get(const std::string& key) const override;
  Status Scan(const std::string& begin, const std::string& end, const RowUse& row) const override;
  Status ScanBackwards(const std::string& begin, const std::string& end,
                       const RowUse& row) const override;
  std::unique_ptr<DatabaseView> TakeView() const override;
  std::unique_ptr<RowBatch> NewBatch() const override;
  Status WriteRows(RowBatch& batch, WriteSync sync) override;
  bool syncs_later() const override { return disk_ != nullptr; }
  Status SyncWritten() override;
  // After a failure every later write fails too, until the database is reopened; reads still work.
  // Also fails if the files have been moved or removed; see FolderWatch.
  Status Write(leveldb::WriteBatch& batch, bool sync);

  // Null for a database in memory, and for one that is only read.
  const std::shared_ptr<const FolderWatch>& files() const { return files_; }
  Status CheckPresent() const override;
  bool low_on_space() const override;
  // Also syncs the marks of synced bytes.
  void Tend() override;
  // Makes a compaction that waits for space fail, and one that waits for readers begin.
  void StopWaiting() override;
  // Checks, without LevelDB, that the disk accepts writes.
  Status CheckWritable() const override;
  // Waits up to ten minutes for the views of earlier states.
  void Compact(const std::string& first, const std::string& last) override;
  // Also returns kResourceExhausted if the disk is nearly full.
  Result<BackupReport> BackUp(const std::string& directory,
                              const std::atomic<bool>* stopping) const override;
  // Must be called after LevelDB's repair, before the database is used. The repair leaves all
  // tables at level 0, where Get prefers the table with the highest number. A compaction may have
  // given old rows a table with a higher number than that of newer rows. Merging keeps the newest
  // version of each key.
  Status MergeTables();

 private:
  LevelDatabase();
  static Result<std::unique_ptr<LevelDatabase>> Open(const std::string& path,
                                                     DatabaseOptions choice,
                                                     std::unique_ptr<LevelDatabase> database);

  LevelReads Latest() const;
  Status WriteBatch(leveldb::WriteBatch& batch, bool sync);
  // Call before writes are acknowledged: records them in the marks, and fails if the files are
  // gone.
  Status FinishWrites();

  bool read_only_ = false;
  std::shared_ptr<const FolderWatch> files_;
  std::shared_ptr<ReserveFile> reserve_;  // null: no reserve
  std::shared_ptr<SyncedMarks> marks_;    // null in memory
  std::unique_ptr<DiskEnv> disk_;         // null in memory, and if only read
  SyncedEnv* synced_ = nullptr;           // `env_`, if `disk_` is not null
  std::unique_ptr<leveldb::Env> env_;
  std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  const std::unique_ptr<OpenViews> views_;
  std::shared_ptr<ReadGate> gate_;
  std::unique_ptr<leveldb::DB> db_;
};

}  // namespace agent_graph::state

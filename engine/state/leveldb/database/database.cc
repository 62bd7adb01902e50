#include "state/leveldb/database/database.h"

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>
#include <leveldb/helpers/memenv.h>
#include <leveldb/write_batch.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "state/leveldb/database/conversions.h"
#include "state/leveldb/database/open_views.h"
#include "state/leveldb/database/reads.h"
#include "state/leveldb/database/synced_env.h"
#include "state/leveldb/disk/disk_env.h"
#include "state/leveldb/disk/folder_watch.h"
#include "state/leveldb/disk/read_only_env.h"
#include "state/leveldb/disk/reserve_file.h"
#include "state/leveldb/files/file_check.h"
#include "state/leveldb/files/synced_marks.h"

namespace agent_graph::state {
namespace {

constexpr size_t kBlockCacheBytes = 64 * 1024 * 1024;
// With 16 MiB and tables of 2 MiB, compactions of a database that grows need twice the CPU time: a
// table that reaches from the new rows of one kind to those of the next kind overlaps all older
// rows between them, and LevelDB limits this overlap to ten tables.
constexpr size_t kWriteBufferBytesMax = 32 * 1024 * 1024;
constexpr size_t kWriteBufferBytesMin = 1024 * 1024;
// The writer of a copy stops before the disk is full, and what is still to be written then must be
// little (see base/disk_room.h). Rows in order need no compaction.
constexpr size_t kWriteBufferBytesOfCopy = 4 * 1024 * 1024;
constexpr size_t kTableBytesMax = 1024 * 1024;
// A compaction writes all of its output before it removes its input. The reserve's share for tables
// must hold four or five level-0 tables, each as large as the write buffer, together with level 1.
// It must also hold one table of a deeper level with the dozen tables that it overlaps.
constexpr size_t kLevel1Bytes = 10 * 1024 * 1024;
constexpr size_t kWriteBuffersInReserve = 5;
constexpr size_t kTablesInReserve = 64;
constexpr int kBloomBitsPerKey = 10;
// Most views live for milliseconds, that of `verify` for minutes. A compaction that does not wait
// for a view cannot free the rows which the view shows, and a later compaction does not free them
// either.
constexpr std::chrono::minutes kOldViewsWait{10};
// The databases of all services share the descriptors of nginx's helper process, whose limit is
// often 1024; `worker_rlimit_nofile` raises it. A table that is not open is opened for each read.
// An open one holds some 30 KiB of memory for its index and filter.
constexpr rlim_t kShareOfDescriptors = 16;
constexpr rlim_t kOpenFilesMin = 256;
constexpr rlim_t kOpenFilesMax = 1024;

int ChooseOpenFiles() {
  rlimit descriptors{};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return kOpenFilesMin;
  return static_cast<int>(
      std::clamp(descriptors.rlim_cur / kShareOfDescriptors, kOpenFilesMin, kOpenFilesMax));
}

// `disk_bytes` is the space that compactions can use on a full disk.
void ChooseSizes(uint64_t disk_bytes, leveldb::Options& options) {
  const auto bytes = static_cast<size_t>(disk_bytes);
  options.max_file_size = std::min(bytes / kTablesInReserve, kTableBytesMax);
  options.write_buffer_size =
      std::clamp((std::max(bytes, kLevel1Bytes) - kLevel1Bytes) / kWriteBuffersInReserve,
                 kWriteBufferBytesMin, kWriteBufferBytesMax);
}

class View : public DatabaseView {
 public:
  View(leveldb::DB& db, ReadGate& gate, OpenViews& views)
      : db_(db),
        views_(views),
        number_(views.Add()),
        snapshot_(db.GetSnapshot()),
        reads_(db, gate, snapshot_) {}
  ~View() override {
    db_.ReleaseSnapshot(snapshot_);
    views_.Remove(number_);
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  Result<std::optional<std::string>> Get(const std::string& key) const override {
    return reads_.Get(key);
  }
  Status Scan(const std::string& begin, const std::string& end, const RowUse& row) const override {
    return reads_.Scan(begin, end, row);
  }
  Status ScanBackwards(const std::string& begin, const std::string& end,
                       const RowUse& row) const override {
    return reads_.ScanBackwards(begin, end, row);
  }
  std::unique_ptr<RowCursor> NewCursor(const std::string& begin, std::string end) const override {
    return reads_.NewCursor(begin, std::move(end));
  }

 private:
  leveldb::DB& db_;
  OpenViews& views_;
  const uint64_t number_;
  const leveldb::Snapshot* const snapshot_;
  const LevelReads reads_;
};

using ChangeUse = std::function<void(std::string_view, std::optional<std::string_view>)>;

class ChangeReader : public leveldb::WriteBatch::Handler {
 public:
  explicit ChangeReader(const ChangeUse& use) : use_(use) {}
  void Put(const leveldb::Slice& key, const leveldb::Slice& value) override {
    use_(ToView(key), ToView(value));
  }
  void Delete(const leveldb::Slice& key) override { use_(ToView(key), std::nullopt); }

 private:
  const ChangeUse& use_;
};

struct Batch : public RowBatch {
  void Put(std::string_view key, std::string_view value) override {
    writes.Put(ToSlice(key), ToSlice(value));
  }
  void Delete(std::string_view key) override { writes.Delete(ToSlice(key)); }
  void Clear() override { writes.Clear(); }
  size_t bytes() const override { return writes.ApproximateSize(); }
  void ForEach(const ChangeUse& use) const override {
    ChangeReader reader(use);
    (void)writes.Iterate(&reader);  // fails only for damaged bytes
  }

  leveldb::WriteBatch writes;
};

}  // namespace

LevelDatabase::LevelDatabase()
    : views_(std::make_unique<OpenViews>()), gate_(std::make_shared<ReadGate>(nullptr)) {}
LevelDatabase::~LevelDatabase() {
  LevelDatabase::StopWaiting();
}

Result<std::unique_ptr<LevelDatabase>> LevelDatabase::OpenDirectory(const std::string& directory,
                                                                    DatabaseOptions options) {
  std::unique_ptr<LevelDatabase> database(new LevelDatabase);
  // LevelDB would create the folder with access for everybody. If mkdir fails, opening the first
  // file in it fails as well.
  if (options.creates) (void)mkdir(directory.c_str(), 0700);
  if (options.keeps_reserve) {
    AG_ASSIGN_OR_RETURN(database->reserve_, ReserveFile::Open(directory));
  }
  AG_ASSIGN_OR_RETURN(database->marks_, SyncedMarks::Open(directory));
  AG_ASSIGN_OR_RETURN(const std::vector<UnfinishedLog> unfinished,
                      CheckFiles(directory, database->marks_->found()));
  AG_RETURN_IF_ERROR(CutUnfinished(unfinished));
  database->marks_->Begin();
  auto files = std::make_shared<FolderWatch>(directory);
  database->gate_ = std::make_shared<ReadGate>(database->reserve_);
  database->disk_ =
      std::make_unique<DiskEnv>(database->reserve_, files, database->marks_, database->gate_);
  auto synced = std::make_unique<SyncedEnv>(database->disk_.get());
  database->synced_ = synced.get();
  database->env_ = std::move(synced);
  AG_ASSIGN_OR_RETURN(database, Open(directory, options, std::move(database)));
  files->Begin();
  database->files_ = std::move(files);
  // Sync the marks, so that the database still has them after a power cut.
  database->marks_->Flush();
  return database;
}

Result<std::unique_ptr<LevelDatabase>> LevelDatabase::OpenReadOnly(const std::string& directory) {
  if (access((directory + "/CURRENT").c_str(), F_OK) != 0 && errno == ENOENT) {
    return NotFound(directory + " contains no database");
  }
  std::unique_ptr<LevelDatabase> database(new LevelDatabase);
  database->read_only_ = true;
  AG_ASSIGN_OR_RETURN(database->marks_, SyncedMarks::OpenReadOnly(directory));
  AG_ASSIGN_OR_RETURN(const std::vector<UnfinishedLog> unfinished,
                      CheckFiles(directory, database->marks_->found()));
  auto env = std::make_unique<ReadOnlyEnv>();
  ReadOnlyEnv& files = *env;
  for (const UnfinishedLog& log : unfinished) {
    const leveldb::Status copied = files.CopyBegin(log.path, log.whole_bytes);
    if (!copied.ok()) return FromLevelDb(copied);
  }
  database->env_ = std::move(env);
  AG_ASSIGN_OR_RETURN(database, Open(directory, {.creates = false}, std::move(database)));
  files.Seal();
  return database;
}

Result<std::unique_ptr<LevelDatabase>> LevelDatabase::OpenMemory() {
  std::unique_ptr<LevelDatabase> database(new LevelDatabase);
  database->env_.reset(leveldb::NewMemEnv(leveldb::Env::Default()));
  return Open("/state", {}, std::move(database));
}

Result<std::unique_ptr<LevelDatabase>> LevelDatabase::Open(
    const std::string& path, DatabaseOptions choice, std::unique_ptr<LevelDatabase> database) {
  leveldb::Options options;
  options.env = database->env_.get();
  database->cache_.reset(leveldb::NewLRUCache(kBlockCacheBytes));
  database->filter_.reset(leveldb::NewBloomFilterPolicy(kBloomBitsPerKey));
  options.create_if_missing = choice.creates;
  options.paranoid_checks = true;
  options.write_buffer_size = choice.is_copy ? kWriteBufferBytesOfCopy : kWriteBufferBytesMax;
  options.max_file_size = kTableBytesMax;
  if (database->reserve_ != nullptr && database->reserve_->size_wanted() > 0) {
    ChooseSizes(database->reserve_->bytes_for_tables(), options);
  }
  options.max_open_files = ChooseOpenFiles();
  options.block_cache = database->cache_.get();
  options.filter_policy = database->filter_.get();
  options.compression = leveldb::kSnappyCompression;
  leveldb::DB* db = nullptr;
  leveldb::Status status = leveldb::DB::Open(options, path, &db);
  if (!status.ok()) {
    // LevelDB reports a lock held by another process only in the error text.
    if (status.IsIOError() && status.ToString().find("lock ") != std::string::npos) {
      return Status(StatusCode::kBusy, "the state database is still open in another process")
          .WithDetail(status.ToString());
    }
    return FromLevelDb(status);
  }
  database->db_.reset(db);
  if (database->disk_ != nullptr) database->disk_->LetTablesWait();
  return database;
}

Result<std::optional<std::string>> LevelDatabase::Get(const std::string& key) const {
  return Latest().Get(key);
}

Status LevelDatabase::Scan(const std::string& begin, const std::string& end,
                           const RowUse& row) const {
  return Latest().Scan(begin, end, row);
}

Status LevelDatabase::ScanBackwards(const std::string& begin, const std::string& end,
                                    const RowUse& row) const {
  return Latest().ScanBackwards(begin, end, row);
}

LevelReads LevelDatabase::Latest() const {
  return {*db_, *gate_, nullptr};
}

std::unique_ptr<DatabaseView> LevelDatabase::TakeView() const {
  return std::make_unique<View>(*db_, *gate_, *views_);
}

std::unique_ptr<RowBatch> LevelDatabase::NewBatch() const {
  return std::make_unique<Batch>();
}

Status LevelDatabase::WriteRows(RowBatch& batch, WriteSync sync) {
  leveldb::WriteBatch& writes = static_cast<Batch&>(batch).writes;
  if (sync == WriteSync::kLater) return WriteBatch(writes, /*sync=*/false);
  return Write(writes, sync == WriteSync::kNow);
}

Status LevelDatabase::SyncWritten() {
  leveldb::Status synced = disk_->SyncLogs();
  if (!synced.ok()) synced_->NoteLost();
  // A log that LevelDB has closed meanwhile was synced then.
  if (synced.ok()) synced = synced_->CheckNotLost();
  AG_RETURN_IF_ERROR(FromLevelDb(synced));
  return FinishWrites();
}

Status LevelDatabase::CheckPresent() const {
  return files_ != nullptr ? files_->Check() : Status::Ok();
}

Status LevelDatabase::Write(leveldb::WriteBatch& batch, bool sync) {
  AG_RETURN_IF_ERROR(WriteBatch(batch, sync));
  return FinishWrites();
}

Status LevelDatabase::WriteBatch(leveldb::WriteBatch& batch, bool sync) {
  if (read_only_) return {StatusCode::kUnavailable, "the state database was opened for reading"};
  if (synced_ != nullptr) AG_RETURN_IF_ERROR(FromLevelDb(synced_->CheckNotLost()));
  leveldb::WriteOptions options;
  options.sync = sync;
  AG_RETURN_IF_ERROR(FromLevelDb(db_->Write(options, &batch)));
  if (disk_ != nullptr) disk_->NoteWritten();
  return Status::Ok();
}

Status LevelDatabase::FinishWrites() {
  if (marks_ != nullptr) marks_->Publish();
  return files_ != nullptr ? files_->Check() : Status::Ok();
}

bool LevelDatabase::low_on_space() const {
  return reserve_ != nullptr && reserve_->low();
}

void LevelDatabase::Tend() {
  if (low_on_space()) reserve_->Refill();
  if (marks_ != nullptr) marks_->Flush();
}

void LevelDatabase::StopWaiting() {
  views_->StopWaiting();
  if (disk_ != nullptr) disk_->StopWaiting();
}

Status LevelDatabase::CheckWritable() const {
  return reserve_ != nullptr ? reserve_->CheckWritable() : Status::Ok();
}

void LevelDatabase::Compact(const std::string& first, const std::string& last) {
  (void)views_->AwaitEarlier(DeadlineAfter(kOldViewsWait));
  const leveldb::Slice begin(first);
  const leveldb::Slice end(last);
  db_->CompactRange(&begin, &end);
}

Status LevelDatabase::MergeTables() {
  db_->CompactRange(nullptr, nullptr);
  std::string unmerged;
  if (db_->GetProperty("leveldb.num-files-at-level0", &unmerged) && unmerged == "0") {
    return Status::Ok();
  }
  // CompactRange returns no error; after a failed compaction, however, every write fails.
  leveldb::WriteBatch nothing;
  AG_RETURN_IF_ERROR(Write(nothing, /*sync=*/true));
  return Status(StatusCode::kUnavailable, "the state database's tables cannot be merged")
      .WithDetail(unmerged + " tables are left at level 0");
}

}  // namespace agent_graph::state

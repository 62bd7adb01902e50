#include "state/leveldb/storage.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "state/directory/state_directory.h"
#include "state/leveldb/database/database.h"
#include "state/leveldb/disk/folder_watch.h"
#include "state/leveldb/maintenance/repair.h"
#include "state/rows/keys.h"
#include "state/rows/transaction.h"
#include "state/store/executor.h"
#include "state/store/format.h"
#include "state/verify/verify.h"

namespace agent_graph::state {
namespace {

constexpr std::chrono::milliseconds kBusyBackoffMin{20};
constexpr std::chrono::milliseconds kBusyBackoffMax{1000};

std::string DatabaseIn(const std::string& directory) {
  return directory + "/db";
}

class LevelDbStorage : public Storage {
 public:
  explicit LevelDbStorage(StateOptions options) : options_(std::move(options)) {}

  Result<std::unique_ptr<Executor>> Open(OpenOptions open) override {
    AG_ASSIGN_OR_RETURN(std::unique_ptr<LevelDatabase> database, OpenDatabase(open));
    StoreExecutorOptions options;
    options.state = options_;
    options.on_failed = std::move(open.on_failed);
    AG_ASSIGN_OR_RETURN(options.epoch, NextEpoch(*database));
    options.index_directory = options_.directory + "/index";
    options.backup_directory = options_.directory + "/backups";
    options.on_lost = [this, files = database->files()] { lost_files_ = files; };
    return std::unique_ptr<Executor>(
        std::make_unique<StoreExecutor>(std::move(database), std::move(options)));
  }

 private:
  Result<std::unique_ptr<LevelDatabase>> OpenDatabase(const OpenOptions& open) {
    if (lost_files_ != nullptr) {
      AG_RETURN_IF_ERROR(lost_files_->Check());
      lost_files_.reset();
    }
    const DatabaseOptions options{.keeps_reserve = true, .creates = options_.creates};
    for (auto backoff = kBusyBackoffMin;; backoff = std::min(backoff * 2, kBusyBackoffMax)) {
      Result<std::unique_ptr<LevelDatabase>> database =
          LevelDatabase::OpenDirectory(DatabaseIn(options_.directory), options);
      if (database.ok() || database.status().code() != StatusCode::kBusy) return database;
      if (!open.wait(backoff)) return database;
    }
  }

  Result<uint64_t> NextEpoch(Database& database) const {
    Transaction transaction(database);
    const std::string key = keys::Meta("owner_epoch");
    AG_ASSIGN_OR_RETURN(std::optional<uint64_t> last, transaction.GetRow<uint64_t>(key));
    const uint64_t epoch = last.value_or(0) + 1;
    transaction.PutRow(key, epoch);
    transaction.Accept(options_.sync != SyncLevel::kNone);
    AG_RETURN_IF_ERROR(transaction.Commit());
    return epoch;
  }

  const StateOptions options_;
  // Files that were lost while they were in use. Nothing else may be opened in their place: an
  // empty database would look as if nothing had been stored.
  std::shared_ptr<const FolderWatch> lost_files_;
};

class MemoryStorage : public Storage {
 public:
  explicit MemoryStorage(StateOptions options) : options_(std::move(options)) {}

  Result<std::unique_ptr<Executor>> Open(OpenOptions open) override {
    AG_ASSIGN_OR_RETURN(std::unique_ptr<LevelDatabase> database, LevelDatabase::OpenMemory());
    StoreExecutorOptions options;
    options.state = options_;
    options.on_failed = std::move(open.on_failed);
    // The database starts empty each time.
    AG_ASSIGN_OR_RETURN(const StateDirectory directory,
                        StateDirectory::Open(options_.directory, options_.root_serves));
    options.epoch = directory.NextNumber(static_cast<uint64_t>(UnixMicros()));
    return std::unique_ptr<Executor>(
        std::make_unique<StoreExecutor>(std::move(database), std::move(options)));
  }

 private:
  const StateOptions options_;
};

class ClosedLevelDb : public ClosedState {
 public:
  explicit ClosedLevelDb(std::string database) : database_(std::move(database)) {}

  Result<VerifyReport> Verify() override {
    AG_ASSIGN_OR_RETURN(const std::unique_ptr<LevelDatabase> database,
                        LevelDatabase::OpenReadOnly(database_));
    return state::Verify(*database);
  }
  Result<BackupReport> Backup(const std::string& directory) override {
    AG_ASSIGN_OR_RETURN(const std::unique_ptr<LevelDatabase> database,
                        LevelDatabase::OpenReadOnly(database_));
    return database->BackUp(directory, nullptr);
  }
  Status Repair() override { return state::Repair(database_); }
  Status CheckReadable() override {
    AG_ASSIGN_OR_RETURN(const std::unique_ptr<LevelDatabase> database,
                        LevelDatabase::OpenReadOnly(database_));
    Transaction transaction(*database);
    return TakeFormat(transaction);
  }

 private:
  const std::string database_;
};

}  // namespace

std::unique_ptr<Storage> MakeLevelDbStorage(const StateOptions& options) {
  return std::make_unique<LevelDbStorage>(options);
}

std::unique_ptr<Storage> MakeMemoryStorage(const StateOptions& options) {
  return std::make_unique<MemoryStorage>(options);
}

std::unique_ptr<ClosedState> MakeClosedLevelDb(const std::string& database) {
  return std::make_unique<ClosedLevelDb>(database);
}

}  // namespace agent_graph::state

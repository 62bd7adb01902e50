// LevelDbExecutor: checks of the database's files, of free space and of failed writes.
#include <chrono>
#include <utility>

#include "state/leveldb/disk/folder_watch.h"
#include "state/leveldb/executor.h"

namespace agent_graph::state {
namespace {

constexpr std::chrono::milliseconds kTendRetryInterval{5000};

}  // namespace

void LevelDbExecutor::SetFailure(const Status& failure) {
  {
    MutexLock lock(mutex_);
    failure_ = failure;
  }
  options_.on_failed();
}

Status LevelDbExecutor::failure() {
  MutexLock lock(mutex_);
  return failure_;
}

Result<Executor::Condition> LevelDbExecutor::Tend() {
  if (database_->files() != nullptr) {
    const Status files = database_->files()->Check();
    if (!files.ok()) {
      options_.on_files_lost(database_->files());
      return files;
    }
  }
  const std::string& directory = options_.state.directory;
  const Status failed = failure();
  if (!failed.ok() && next_try_ == kNoDeadline) {
    Log(LogLevel::kAlert, NotAvailable(directory, " for writing", failed));
    next_try_ = DeadlineAfter(kTendRetryInterval);
  }
  if (database_->low_on_space() && !std::exchange(low_on_space_, true)) {
    Log(LogLevel::kAlert, "state of " + directory +
                              " is not available for writing: the disk is full; "
                              "reads and deletions continue");
  }
  database_->Tend();
  if (!database_->low_on_space() && std::exchange(low_on_space_, false)) {
    Log(LogLevel::kNotice, "the disk of the state of " + directory + " has space again");
  }
  if (MonotonicClock::now() < next_try_) return Condition::kServing;
  next_try_ = DeadlineAfter(kTendRetryInterval);
  return database_->CheckWritable().ok() ? Condition::kReopen : Condition::kServing;
}

void LevelDbExecutor::Log(LogLevel level, const std::string& text) const {
  if (options_.state.log) options_.state.log(level, text);
}

}  // namespace agent_graph::state

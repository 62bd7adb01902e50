// StoreExecutor: checks of the stored data, of free space and of failed writes.
#include <chrono>
#include <utility>

#include "state/store/executor.h"

namespace agent_graph::state {
namespace {

constexpr std::chrono::milliseconds kTendRetryInterval{5000};

}  // namespace

void StoreExecutor::SetFailure(const Status& failure) {
  {
    MutexLock lock(mutex_);
    failure_ = failure;
  }
  options_.on_failed();
}

Status StoreExecutor::failure() {
  MutexLock lock(mutex_);
  return failure_;
}

Result<Executor::Condition> StoreExecutor::Tend() {
  if (const Status present = database_->CheckPresent(); !present.ok()) {
    if (options_.on_lost) options_.on_lost();
    return present;
  }
  const std::string& directory = options_.state.directory;
  const Status failed = failure();
  if (!failed.ok() && next_try_ == kNoDeadline) {
    Log(LogLevel::kAlert, NotAvailable(directory, " for writing", failed));
    next_try_ = DeadlineAfter(is_shared() ? options_.reopen_after : kTendRetryInterval);
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
  // The next executor waits until the database is back.
  if (!failed.ok() && is_shared()) return Condition::kReopen;
  next_try_ = DeadlineAfter(kTendRetryInterval);
  return database_->CheckWritable().ok() ? Condition::kReopen : Condition::kServing;
}

void StoreExecutor::Log(LogLevel level, const std::string& text) const {
  if (options_.state.log) options_.state.log(level, text);
}

}  // namespace agent_graph::state

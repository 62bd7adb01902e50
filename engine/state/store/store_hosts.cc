// Store: a database that several hosts write. Each host keeps the leases of its own clients in
// memory. Before an operation touches a thread, the thread's lease row is locked, and the lease in
// memory is brought to the row. Leases of other hosts are known for the time of a batch, or as long
// as a run waits for them here.
#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "state/store/store.h"

namespace agent_graph::state {
namespace {

// Interval at which a host checks if a run of another host, for which it waits, has ended.
constexpr std::chrono::milliseconds kAwaitInterval{200};
constexpr size_t kAwaitedAtOnce = 256;

}  // namespace

void Store::Use(const std::string& thread_id) {
  if (is_shared()) UseAll({thread_id});
}

void Store::UseAll(const std::vector<std::string>& thread_ids) {
  if (!is_shared()) return;
  BatchUse use;
  for (const std::string& thread_id : thread_ids) {
    if (!used_threads_.contains(thread_id)) use.threads.push_back({.thread_id = thread_id});
  }
  if (!use.threads.empty()) UseRows(use);
}

// A failure ends the batch: the database refuses to write it.
void Store::UseRows(const BatchUse& use) {
  if (is_shared() && database_.Prepare(use).ok()) SyncLeases(use);
}

void Store::SyncLeases(const BatchUse& use) {
  for (const ThreadUse& thread : use.threads) {
    if (!used_threads_.insert(thread.thread_id).second) continue;
    const Status synced = SyncLease(thread.thread_id);
    if (synced.ok()) continue;
    reports_.push_back({LogLevel::kAlert, "the lease of thread " + thread.thread_id +
                                              " cannot be read: " + synced.ToString()});
  }
}

Status Store::SyncLease(const std::string& thread_id) {
  AG_ASSIGN_OR_RETURN(const std::optional<ThreadRow> thread, FindThread(transaction_, thread_id));
  std::optional<LeaseRow> row;
  if (thread) {
    AG_ASSIGN_OR_RETURN(row, transaction_.GetRow<LeaseRow>(keys::Lease(thread->key())));
  }
  auto found = leases_.find(thread_id);
  const bool is_deleted =
      found != leases_.end() && (!thread || thread->key() != found->second.thread);
  if (is_deleted) {
    ForgetDeleted(thread_id);
    found = leases_.end();
  }
  if (!row) {
    if (found == leases_.end()) return Status::Ok();
    // The host that has ended the lease knows of no run that still waits.
    found->second.row.hosts.queue.clear();
    DropLease(thread_id);
    return Status::Ok();
  }
  const bool is_same = found != leases_.end() && found->second.row.run_id == row->run_id &&
                       found->second.row.epoch == row->epoch &&
                       found->second.row.hosts.instance == row->hosts.instance;
  if (is_same) {
    found->second.row = *std::move(row);
    AG_RETURN_IF_ERROR(LoadOutsideChange(found->second));
  } else {
    AdoptLease(thread_id, thread->key(), *std::move(row));
  }
  const Lease& lease = leases_.at(thread_id);
  if (IsOurs(lease) && IsHandedOver(lease)) TakeHandOver(thread_id);
  return Status::Ok();
}

// Another host has deleted the thread. A host may have made a new thread of the same id since: the
// runs of the old one do not go on there.
void Store::ForgetDeleted(const std::string& thread_id) {
  Lease& lease = leases_.at(thread_id);
  if (IsOurs(lease)) NoticeCancel(lease.row);
  RefuseWaiters(lease, ThreadWasDeleted());
  lease.row.hosts.queue.clear();
  DropLease(thread_id);
}

// Another host has begun a run, or continues one.
void Store::AdoptLease(const std::string& thread_id, const keys::ThreadKey& thread, LeaseRow row) {
  Lease lease;
  if (const auto found = leases_.find(thread_id); found != leases_.end()) {
    lease.waiters = std::exchange(found->second.waiters, {});
    waiters_ -= lease.waiters.size();
    found->second.row.hosts.queue.clear();
    DropLease(thread_id);
    waiters_ += lease.waiters.size();
  }
  lease.thread = thread;
  lease.has_effects = row.last_append > 0;
  lease.row = std::move(row);
  lease.accepted = IsAccepted(lease);
  (void)LoadOutsideChange(lease);
  leases_.emplace(thread_id, std::move(lease));
}

bool Store::IsAccepted(const Lease& lease) {
  const Result<std::optional<RunRequestRow>> request =
      transaction_.GetRow<RunRequestRow>(keys::RunRequest(lease.thread, lease.row.run_id));
  return request.ok() && *request;
}

Status Store::LoadOwnLeases() {
  std::vector<std::string> threads;
  const std::string prefix = keys::TablePrefix(keys::Table::kLease);
  Status damage;
  AG_RETURN_IF_ERROR(database_.Scan(
      prefix, keys::PrefixEnd(prefix), [&](std::string_view, std::string_view value) {
        LeaseRow row;
        if (!pack::FromBytes(value, row)) {
          damage = Status(StatusCode::kDataLoss, "a lease cannot be read back");
          return false;
        }
        if (row.hosts.instance == database_.instance()) threads.push_back(row.thread_id);
        return true;
      }));
  AG_RETURN_IF_ERROR(damage);
  UseAll(threads);
  for (const std::string& thread_id : threads) {
    const auto found = leases_.find(thread_id);
    if (found == leases_.end() || !IsOurs(found->second)) continue;
    const LeaseRow& row = found->second.row;
    if (row.client.empty()) continue;
    ClientEntry& client = clients_[row.client];
    client.process = row.process;
    client.process_start = row.process_start;
  }
  return Status::Ok();
}

void Store::ForgetForeignLeases() {
  for (const std::string& thread_id : used_threads_) {
    const auto lease = leases_.find(thread_id);
    if (lease == leases_.end() || IsOurs(lease->second)) continue;
    if (lease->second.waiters.empty()) {
      leases_.erase(lease);
    } else {
      next_await_ = std::min(next_await_, MonotonicClock::now() + Duration(kAwaitInterval));
    }
  }
  used_threads_.clear();
}

void Store::AddAwaited(MonotonicClock::time_point now, BatchUse& use) {
  // Locked together with those of the requests: hosts that lock the same threads one after the
  // other would block each other.
  for (std::string& thread_id : NextLostThreads()) {
    use.threads.push_back({.thread_id = std::move(thread_id)});
  }
  if (now < next_await_) return;
  next_await_ = kNoDeadline;
  size_t count = 0;
  for (const auto& [thread_id, lease] : leases_) {
    if (IsOurs(lease)) continue;
    use.threads.push_back({.thread_id = thread_id});
    if (++count == kAwaitedAtOnce) break;
  }
}

void Store::OnHostNotice(const HostNotice& notice) {
  if (notice.kind == HostNotice::Kind::kRemoteTools) {
    (void)LoadRemoteTools();
    return;
  }
  if (notice.kind == HostNotice::Kind::kThreadDeleted) {
    for (const auto& [name, client] : clients_) {
      if (client.connection != 0) Notify(client.connection, ThreadDeleted{notice.thread_id});
    }
    // Many threads may be deleted at once; few of them have runs here.
    if (!leases_.contains(notice.thread_id)) return;
  }
  Use(notice.thread_id);
  StartHandedOver();
  const auto found = leases_.find(notice.thread_id);
  if (found == leases_.end()) return;
  Lease& lease = found->second;
  if (notice.kind == HostNotice::Kind::kStopWaiting) {
    CancelWaiters(lease, RunWasStopped(), notice.run_id);
    SaveQueue(lease);
    transaction_.Accept(false);
  }
  const bool holds = IsOurs(lease) && lease.row.run_id == notice.run_id;
  if (notice.kind == HostNotice::Kind::kStopWaiting && holds) {
    // The run has begun meanwhile, so it does not wait any more.
    StopHolder(notice.thread_id, /*cancel=*/true);
    return transaction_.Accept(false);
  }
  // The notice may be about an earlier run with this id, which has ended.
  const bool is_cancelled = holds && lease.row.cancel_requested;
  if (notice.kind == HostNotice::Kind::kCancelRun && is_cancelled) NoticeCancel(lease.row);
}

// After an error the next interval tries again.
bool Store::Claims(const char* work, std::chrono::seconds pause) {
  if (!is_shared()) return true;
  const Result<bool> claimed = database_.ClaimWork(work, pause);
  return claimed.ok() && *claimed;
}

void Store::NotifyHosts(const HostNotice& notice) {
  if (is_shared()) database_.Notify(notice);
}

}  // namespace agent_graph::state

// Store: runs that wait for a thread's lease.
#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "state/rules/lost_run.h"
#include "state/store/store.h"

namespace agent_graph::state {
namespace {

// Accepted runs whose deadline has passed, or the threads for which they wait, in one batch.
constexpr size_t kOverdueWaitersAtOnce = 128;

// A run that waits long names a window that is far behind when its turn comes. The client keeps
// what its other runs have loaded meanwhile, so that need not be sent again. If it has not kept it,
// it loads all.
void NoteWindow(const Lease& lease, Waiter& waiter) {
  std::optional<KnownWindow>& known = waiter.run.known_window;
  if (known && lease.begun_window && waiter.from.client == lease.row.client) {
    known = lease.begun_window;
  }
}

}  // namespace

bool Store::IsQueued(const Lease& lease, const std::string& run_id) const {
  return std::any_of(lease.waiters.begin(), lease.waiters.end(),
                     [&](const Waiter& waiter) { return waiter.run.run_id == run_id; });
}

void Store::Enqueue(Lease& lease, Waiter waiter) {
  if (waiter.run.interrupt_if_busy) {
    if (is_shared()) {
      lease.row.hosts.queue.insert(
          lease.row.hosts.queue.begin(),
          QueuedRun{waiter.run.run_id, database_.instance(), waiter.micros});
    }
    lease.waiters.push_front(std::move(waiter));
  } else {
    lease.waiters.push_back(std::move(waiter));
  }
  ++waiters_;
  SaveQueue(lease);
}

void Store::SaveQueue(Lease& lease) {
  lease.row.queued_runs.clear();
  lease.row.hosts.queued_micros.clear();
  const auto add = [&](const std::string& run_id, int64_t asked_micros) {
    lease.row.queued_runs.push_back(run_id);
    lease.row.hosts.queued_micros.push_back(asked_micros);
  };
  if (is_shared()) {
    OrderQueue(lease);
    for (const QueuedRun& run : lease.row.hosts.queue) {
      if (!run.is_stopped()) add(run.run_id, run.asked_micros);
    }
  } else {
    for (const Waiter& waiter : lease.waiters) add(waiter.run.run_id, waiter.micros);
  }
  transaction_.PutRow(keys::Lease(lease.thread), lease.row);
}

void Store::MeasureWaits() {
  const int64_t now = database_.Now();
  int64_t since = now;
  for (const auto& [thread_id, lease] : leases_) {
    if (lease.accepted && lease.row.client.empty() && IsOurs(lease)) {
      since = std::min(since, lease.waiting_since_micros);
    }
    for (const Waiter& waiter : lease.waiters) {
      if (waiter.accepted) since = std::min(since, waiter.micros);
    }
  }
  longest_wait_micros_.store(now - since, std::memory_order_relaxed);
}

void Store::DropLease(const std::string& thread_id) {
  auto found = leases_.find(thread_id);
  if (found == leases_.end()) return;
  AG_CHECK(waiters_ >= found->second.waiters.size(), "every waiting run is counted");
  if (found->second.accepted) {
    CountGrant(found->second, false);
    ungranted_.Erase(thread_id);
  }
  changed_runs_.push_back(thread_id);
  waiters_ -= found->second.waiters.size();
  Lease& lease = found->second;
  if (!lease.waiters.empty() || !lease.row.hosts.queue.empty()) {
    admissions_.push_back({.thread_id = thread_id,
                           .waiters = std::move(lease.waiters),
                           .queue = std::move(lease.row.hosts.queue),
                           .last_client = lease.window_is_kept ? "" : lease.row.client});
  }
  leases_.erase(found);
}

void Store::AdmitWaiters() {
  while (!admissions_.empty()) {
    FreedThread freed = std::move(admissions_.back());
    admissions_.pop_back();
    Use(freed.thread_id);
    if (!leases_.contains(freed.thread_id)) StartNext(freed);
    const auto found = leases_.find(freed.thread_id);
    if (found == leases_.end()) {
      if (!freed.lease_key.empty()) transaction_.Delete(freed.lease_key);
      transaction_.Accept(false);
      continue;
    }
    Lease& lease = found->second;
    if (freed.waiters.empty() && freed.queue.empty()) continue;
    waiters_ += freed.waiters.size();
    for (Waiter& waiter : freed.waiters) NoteWindow(lease, waiter);
    std::ranges::move(freed.waiters, std::back_inserter(lease.waiters));
    // If a new run has taken the lease meanwhile, runs already wait for it: they come last.
    std::ranges::move(lease.row.hosts.queue, std::back_inserter(freed.queue));
    lease.row.hosts.queue = std::move(freed.queue);
    SaveQueue(lease);
    transaction_.Accept(false);
  }
}

void Store::CancelWaiters(Lease& lease, const Status& reason, const std::string& run_id) {
  AG_CHECK(waiters_ >= lease.waiters.size(), "every cancelled run is counted");
  waiters_ -= std::erase_if(lease.waiters, [&](const Waiter& waiter) {
    if (!run_id.empty() && waiter.run.run_id != run_id) return false;
    if (waiter.accepted) {
      EndQueued(lease, waiter.run.run_id, RunState::kStopped, "stopped");
    } else {
      Refuse(waiter.from, reason);
    }
    return true;
  });
}

Status Store::RunWasStopped() {
  return {StatusCode::kCancelled, "the run was asked to stop"};
}

Status Store::ThreadWasDeleted() {
  return {StatusCode::kCancelled, "the thread was deleted"};
}

void Store::RefuseWaiters(Lease& lease, const Status& reason) {
  for (const Waiter& waiter : lease.waiters) {
    if (!waiter.accepted) Refuse(waiter.from, reason);
  }
  waiters_ -= lease.waiters.size();
  lease.waiters.clear();
}

void Store::RemoveWaiters(
    const std::function<bool(const Lease& lease, const Waiter& waiter)>& leaves) {
  std::vector<std::string> changed;
  for (auto& [thread_id, lease] : leases_) {
    const size_t left = std::erase_if(
        lease.waiters,
        [&lease = lease, &leaves](const Waiter& waiter) { return leaves(lease, waiter); });
    waiters_ -= left;
    if (left > 0) changed.push_back(thread_id);
  }
  UseAll(changed);  // together: hosts that lock them in different orders would block
  for (const std::string& thread_id : changed) {
    const auto lease = leases_.find(thread_id);
    if (lease != leases_.end()) SaveQueue(lease->second);
  }
  transaction_.Accept(false);
}

void Store::DropWaitersOf(const std::string& client) {
  if (waiters_ == 0) return;
  RemoveWaiters([&](const Lease&, const Waiter& waiter) { return waiter.from.client == client; });
}

void Store::RefuseWaitersOf(const std::string& client, const Status& reason) {
  if (waiters_ == 0) return;
  RemoveWaiters([&](const Lease&, const Waiter& waiter) {
    if (waiter.from.client != client) return false;
    Refuse(waiter.from, reason);
    return true;
  });
}

// The records of overdue accepted runs are read and written, so their threads are locked first.
void Store::UseOverdueThreads(MonotonicClock::time_point now) {
  if (!is_shared()) return;
  std::vector<std::string> overdue;
  for (const auto& [thread_id, lease] : leases_) {
    const bool has_overdue = std::ranges::any_of(lease.waiters, [now](const Waiter& waiter) {
      return waiter.accepted && waiter.deadline <= now;
    });
    if (has_overdue) overdue.push_back(thread_id);
    if (overdue.size() == kOverdueWaitersAtOnce) break;
  }
  UseAll(overdue);
  AdmitWaiters();  // of threads that another host has freed
}

void Store::ExpireWaiters(MonotonicClock::time_point now) {
  UseOverdueThreads(now);
  next_waiter_ = kNoDeadline;
  size_t ended = 0;
  RemoveWaiters([&](const Lease& lease, const Waiter& waiter) {
    const bool may_end = !is_shared() || used_threads_.contains(lease.row.thread_id);
    const bool must_stay = waiter.accepted && (!may_end || ended == kOverdueWaitersAtOnce);
    if (waiter.deadline > now || must_stay) {
      next_waiter_ = std::min(next_waiter_, waiter.deadline);
      return false;
    }
    if (waiter.accepted) {
      ++ended;
      EndQueued(lease, waiter.run.run_id, RunState::kError, kDeadlineReason);
    } else {
      Refuse(waiter.from, Status(StatusCode::kBusy, "the thread has a run in flight"));
    }
    return true;
  });
}

}  // namespace agent_graph::state

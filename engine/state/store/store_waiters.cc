// Store: runs that wait for a thread's lease.
#include <algorithm>

#include "base/check.h"
#include "state/rules/lost_run.h"
#include "state/store/store.h"

namespace agent_graph::state {

bool Store::IsQueued(const Lease& lease, const std::string& run_id) const {
  return std::any_of(lease.waiters.begin(), lease.waiters.end(),
                     [&](const Waiter& waiter) { return waiter.run.run_id == run_id; });
}

void Store::Enqueue(Lease& lease, Waiter waiter) {
  if (waiter.run.interrupt_if_busy) {
    lease.waiters.push_front(std::move(waiter));
  } else {
    lease.waiters.push_back(std::move(waiter));
  }
  ++waiters_;
  SaveQueue(lease);
}

void Store::SaveQueue(Lease& lease) {
  lease.row.queued_runs = lease.queued_elsewhere;
  for (const Waiter& waiter : lease.waiters) lease.row.queued_runs.push_back(waiter.run.run_id);
  transaction_.PutRow(keys::Lease(lease.thread), lease.row);
}

void Store::AdmitWaiters() {
  while (!admissions_.empty()) {
    std::deque<Waiter> queue = std::move(admissions_.back());
    admissions_.pop_back();
    for (Waiter& waiter : queue) {
      Use(waiter.run.thread_id);
      auto lease = leases_.find(waiter.run.thread_id);
      if (lease == leases_.end()) {
        if (waiter.accepted) {
          StartAccepted(waiter);
        } else {
          Start(waiter);
        }
      } else {
        lease->second.waiters.push_back(std::move(waiter));
        ++waiters_;
        SaveQueue(lease->second);
        transaction_.Accept(false);
      }
    }
  }
}

void Store::CancelWaiters(Lease& lease, const Status& reason, const std::string& run_id) {
  AG_CHECK(waiters_ >= lease.waiters.size(), "every cancelled run is counted");
  waiters_ -= std::erase_if(lease.waiters, [&](const Waiter& waiter) {
    if (!run_id.empty() && waiter.run.run_id != run_id) return false;
    if (waiter.accepted) {
      EndQueued(lease, waiter, RunState::kStopped, "stopped");
    } else {
      Refuse(waiter.from, reason);
    }
    return true;
  });
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
  for (const std::string& thread_id : changed) {
    Use(thread_id);
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

void Store::ExpireWaiters(MonotonicClock::time_point now) {
  next_waiter_ = kNoDeadline;
  RemoveWaiters([&](const Lease& lease, const Waiter& waiter) {
    if (waiter.deadline > now) {
      next_waiter_ = std::min(next_waiter_, waiter.deadline);
      return false;
    }
    if (waiter.accepted) {
      EndQueued(lease, waiter, RunState::kError, kDeadlineReason);
    } else {
      Refuse(waiter.from, Status(StatusCode::kBusy, "the thread has a run in flight"));
    }
    return true;
  });
}

}  // namespace agent_graph::state

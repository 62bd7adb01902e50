// Store: the order of waiting runs over all hosts that share the database. The lease row of a
// thread has the queue of all hosts, and each host has the waiting runs of its own clients. The
// host that ends a run gives the thread to the next run in the queue. If that one waits elsewhere,
// the lease row is handed over: it names the host and the run, but no client. That host begins the
// run, or passes the thread on if the run does not wait any more.
#include <algorithm>
#include <utility>

#include "state/store/store.h"

namespace agent_graph::state {

bool Store::IsQueuedElsewhere(const Lease& lease, const std::string& run_id) const {
  return std::ranges::any_of(lease.row.hosts.queue, [&](const QueuedRun& run) {
    return run.run_id == run_id && run.instance != database_.instance();
  });
}

// Refuses requests that wait here and are marked in the queue. Returns how many.
size_t Store::RefuseStoppedIn(std::vector<QueuedRun>& queue, WaiterList& waiters) {
  return std::erase_if(queue, [&](const QueuedRun& run) {
    const auto waiter = std::ranges::find_if(
        waiters, [&](const Waiter& each) { return each.run.run_id == run.run_id; });
    // Accepted runs have a row, which another host does not only mark but ends.
    if (!run.is_stopped() || waiter == waiters.end() || waiter->accepted) return false;
    Refuse(waiter->from, RunWasStopped());
    waiters.erase(waiter);
    return true;
  });
}

void Store::StartHandedOver() {
  RefuseStopped();
  AdmitWaiters();
}

void Store::RefuseStopped() {
  for (const std::string& thread_id : used_threads_) {
    const auto found = leases_.find(thread_id);
    if (found == leases_.end()) continue;
    Lease& lease = found->second;
    const size_t refused = RefuseStoppedIn(lease.row.hosts.queue, lease.waiters);
    if (refused == 0) continue;
    waiters_ -= refused;
    SaveQueue(lease);
    transaction_.Accept(false);
  }
}

// A client sends its request again to the next executor of its host, which may be another instance.
// Fails if the run was asked to stop meanwhile.
Status Store::LeaveOldPlace(Lease& lease, const std::string& run_id) {
  std::vector<QueuedRun>& queue = lease.row.hosts.queue;
  const auto place = std::ranges::find(queue, run_id, &QueuedRun::run_id);
  if (place == queue.end() || place->instance == database_.instance()) return Status::Ok();
  if (place->is_stopped()) {
    queue.erase(place);
    SaveQueue(lease);
    return RunWasStopped();
  }
  const Result<bool> lives = database_.HoldInstance(place->instance);
  if (lives.ok() && !*lives) queue.erase(place);
  return Status::Ok();
}

// Keeps the places of runs, and drops those of this host that wait no more.
void Store::OrderQueue(Lease& lease) {
  const std::string& instance = database_.instance();
  std::vector<QueuedRun> queue;
  const auto is_in = [](const std::vector<QueuedRun>& runs, const std::string& run_id) {
    return std::ranges::find(runs, run_id, &QueuedRun::run_id) != runs.end();
  };
  for (QueuedRun& run : lease.row.hosts.queue) {
    if (IsQueued(lease, run.run_id) && !run.is_stopped()) run.instance = instance;
    const bool waits = run.instance != instance || IsQueued(lease, run.run_id);
    if (waits && !is_in(queue, run.run_id)) queue.push_back(std::move(run));
  }
  for (const Waiter& waiter : lease.waiters) {
    if (is_in(queue, waiter.run.run_id)) continue;
    queue.push_back({waiter.run.run_id, instance, waiter.micros});
  }
  lease.row.hosts.queue = std::move(queue);
}

// An accepted run that waits for a worker has no client either, but its request is stored.
bool Store::IsHandedOver(const Lease& lease) const {
  if (!is_shared() || !lease.row.client.empty()) return false;
  return !lease.accepted || IsQueued(lease, lease.row.run_id);
}

// The lease row stays until the run begins, or until the thread is passed on.
void Store::TakeHandOver(const std::string& thread_id) {
  const auto found = leases_.find(thread_id);
  Lease& lease = found->second;
  FreedThread freed{.thread_id = thread_id,
                    .waiters = std::move(lease.waiters),
                    .queue = std::move(lease.row.hosts.queue),
                    .lease_key = keys::Lease(lease.thread)};
  freed.queue.insert(
      freed.queue.begin(),
      {lease.row.run_id, lease.row.stop_requested ? QueuedRun::kStopped : database_.instance(),
       lease.row.hosts.asked_micros});
  waiters_ -= freed.waiters.size();
  leases_.erase(found);
  admissions_.push_back(std::move(freed));
}

// Starts a run of this host; the first one if `run_id` is not known.
void Store::StartWaiter(FreedThread& freed, const std::string& run_id) {
  auto next = std::ranges::find_if(
      freed.waiters, [&](const Waiter& waiter) { return waiter.run.run_id == run_id; });
  if (next == freed.waiters.end()) next = freed.waiters.begin();
  Waiter waiter = std::move(*next);
  waiter.follows_own_run = waiter.from.client == freed.last_client;
  waiter.begun_micros = database_.Now();
  freed.waiters.erase(next);
  std::erase_if(freed.queue, [&](const QueuedRun& run) { return run.run_id == waiter.run.run_id; });
  if (waiter.accepted) {
    StartAccepted(waiter);
  } else {
    Start(waiter);
  }
}

// Gives a free thread to the first run of its queue that can begin.
void Store::StartNext(FreedThread& freed) {
  (void)RefuseStoppedIn(freed.queue, freed.waiters);
  while (!leases_.contains(freed.thread_id)) {
    const auto waits_here = [&](const QueuedRun& run) {
      return std::ranges::any_of(
          freed.waiters, [&](const Waiter& waiter) { return waiter.run.run_id == run.run_id; });
    };
    std::erase_if(freed.queue, [&](const QueuedRun& run) {
      return run.instance == database_.instance() && !waits_here(run);
    });
    const bool is_elsewhere = !freed.queue.empty() && !waits_here(freed.queue.front());
    if (is_elsewhere) {
      if (HandOver(freed)) return;
      freed.queue.erase(freed.queue.begin());
    } else if (freed.waiters.empty()) {
      return;
    } else {
      StartWaiter(freed, freed.queue.empty() ? "" : freed.queue.front().run_id);
    }
  }
}

// Returns false if the host of the next run has died, or if the thread is gone.
bool Store::HandOver(FreedThread& freed) {
  const QueuedRun next = freed.queue.front();
  const Result<bool> lives = database_.HoldInstance(next.instance);
  const Result<std::optional<ThreadRow>> thread = FindThread(transaction_, freed.thread_id);
  if (!lives.ok() || !*lives || !thread.ok() || !*thread) return false;
  freed.queue.erase(freed.queue.begin());
  Lease lease;
  lease.thread = (*thread)->key();
  lease.row.thread_id = freed.thread_id;
  lease.row.run_id = next.run_id;
  lease.row.hosts.instance = next.instance;
  lease.row.epoch = (*thread)->lease_epoch;
  lease.row.current_node = kStartNode;
  lease.row.started_micros = database_.Now();
  lease.accepted = IsAccepted(lease);
  if (!lease.accepted) lease.row.hosts.asked_micros = next.asked_micros;
  transaction_.PutRow(keys::Lease(lease.thread), lease.row);
  transaction_.Accept(true);
  leases_.emplace(freed.thread_id, std::move(lease));
  changed_runs_.push_back(freed.thread_id);
  NotifyHosts({HostNotice::Kind::kHandOver, next.instance, freed.thread_id, next.run_id});
  return true;
}

}  // namespace agent_graph::state

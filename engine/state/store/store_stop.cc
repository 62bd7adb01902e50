// Store: asks runs to stop.
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "state/requests.h"
#include "state/rules/scope.h"
#include "state/store/store.h"

namespace agent_graph::state {
namespace {

// Number of stopped runs that a thread keeps.
constexpr ptrdiff_t kStoppedRunsMax = 32;

}  // namespace

void Store::NoticeCancel(const LeaseRow& lease) {
  if (lease.hosts.instance != database_.instance()) {
    return NotifyHosts(
        {HostNotice::Kind::kCancelRun, lease.hosts.instance, lease.thread_id, lease.run_id});
  }
  auto client = clients_.find(lease.client);
  if (client == clients_.end() || client->second.connection == 0) return;
  Notify(client->second.connection, CancelRun{lease.thread_id, lease.run_id});
}

Result<ReplyRow> Store::RequestStop(const StopRequest& stop) {
  StopReply answer;
  auto found = leases_.find(stop.thread_id);
  if (found != leases_.end() && InScope(stop.scope, found->second.thread.owner)) {
    Lease& lease = found->second;
    if (stop.run_id.empty() || stop.run_id == lease.row.run_id) {
      answer = {true, lease.row.run_id};
    } else if (IsQueued(lease, stop.run_id) || IsQueuedElsewhere(lease, stop.run_id)) {
      answer = {true, stop.run_id};
    }
    AG_RETURN_IF_ERROR(NoteStopped(lease, stop));
    AG_RETURN_IF_ERROR(StopQueuedElsewhere(lease, stop));
    // An empty run_id cancels every waiting run.
    CancelWaiters(lease, RunWasStopped(), stop.run_id);
    const bool stops_holder = answer.running && answer.run_id == lease.row.run_id;
    const bool is_handed_over = IsHandedOver(lease);
    // Its host refuses the run when it takes the thread.
    if (stops_holder && is_handed_over) lease.row.stop_requested = true;
    SaveQueue(lease);
    if (stops_holder && !is_handed_over) StopHolder(stop.thread_id, stop.cancel);
  }
  ReplyRow reply;
  reply.body = pack::ToBytes(answer);
  return reply;
}

// The mark in the queue is gone when the thread is free. A host may look at the thread only then,
// and after it was declared dead its worker sends the request again. The run is refused in both
// cases, because its request is older than the stop.
Status Store::NoteStopped(const Lease& lease, const StopRequest& stop) {
  std::vector<StoppedRun> stopped;
  const auto note = [&](const std::string& run_id) {
    const bool is_asked = stop.run_id.empty() || stop.run_id == run_id;
    if (is_asked) stopped.push_back({run_id, database_.Now()});
  };
  if (IsHandedOver(lease)) note(lease.row.run_id);
  for (const QueuedRun& run : lease.row.hosts.queue) {
    if (IsQueuedElsewhere(lease, run.run_id) && !run.is_stopped()) note(run.run_id);
  }
  if (stopped.empty()) return Status::Ok();
  AG_ASSIGN_OR_RETURN(std::optional<ThreadRow> thread, FindThread(transaction_, stop.thread_id));
  if (!thread) return Status::Ok();
  std::vector<StoppedRun>& kept = thread->stopped_runs;
  std::ranges::move(stopped, std::back_inserter(kept));
  if (std::ssize(kept) > kStoppedRunsMax) kept.erase(kept.begin(), kept.end() - kStoppedRunsMax);
  SaveThread(transaction_, stop.thread_id, *thread);
  return Status::Ok();
}

// Accepted runs have a row, so they end here and now: their hosts find that when they start them.
// Requests that wait belong to the connection of a client, so their hosts end them when they see
// the mark in the queue. The notices make them look at once, and hosts of the version before know
// only the notices. A notice names its run: such a host may have begun it by then, and cancels it.
Status Store::StopQueuedElsewhere(Lease& lease, const StopRequest& stop) {
  const auto is_asked = [&](const std::string& run_id) {
    return stop.run_id.empty() || stop.run_id == run_id;
  };
  const auto notify = [&](const std::string& run_id) {
    NotifyHosts({HostNotice::Kind::kStopWaiting, {}, stop.thread_id, run_id});
  };
  if (IsHandedOver(lease) && is_asked(lease.row.run_id)) notify(lease.row.run_id);
  std::vector<QueuedRun> left;
  for (QueuedRun& run : lease.row.hosts.queue) {
    if (IsQueuedElsewhere(lease, run.run_id) && is_asked(run.run_id)) {
      notify(run.run_id);
      AG_ASSIGN_OR_RETURN(
          const std::optional<RunRequestRow> request,
          transaction_.GetRow<RunRequestRow>(keys::RunRequest(lease.thread, run.run_id)));
      if (request) EndQueued(lease, run.run_id, RunState::kStopped, "stopped");
      if (request) continue;
      run.instance = QueuedRun::kStopped;
    }
    left.push_back(run);
  }
  lease.row.hosts.queue = std::move(left);
  return Status::Ok();
}

void Store::StopHolder(const std::string& thread_id, bool cancel) {
  Lease& lease = leases_.at(thread_id);
  lease.row.stop_requested = true;
  lease.row.cancel_requested = lease.row.cancel_requested || cancel;
  if (cancel) NoticeCancel(lease.row);
  transaction_.PutRow(keys::Lease(lease.thread), lease.row);
  if (lease.row.client.empty()) EndReserved(thread_id, RunState::kStopped, "stopped");
}

}  // namespace agent_graph::state

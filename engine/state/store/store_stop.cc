// Store: asks runs to stop.
#include <algorithm>
#include <string>

#include "state/requests.h"
#include "state/rules/scope.h"
#include "state/store/store.h"

namespace agent_graph::state {

void Store::NoticeCancel(const LeaseRow& lease) {
  if (lease.instance != database_.instance()) {
    return NotifyHosts(
        {HostNotice::Kind::kCancelRun, lease.instance, lease.thread_id, lease.run_id});
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
    } else if (IsQueued(lease, stop.run_id) ||
               std::ranges::find(lease.queued_elsewhere, stop.run_id) !=
                   lease.queued_elsewhere.end()) {
      answer = {true, stop.run_id};
    }
    if (!lease.queued_elsewhere.empty()) {
      NotifyHosts({HostNotice::Kind::kStopWaiting, {}, stop.thread_id, stop.run_id});
    }
    // An empty run_id cancels every waiting run.
    CancelWaiters(lease, Status(StatusCode::kCancelled, "the run was asked to stop"), stop.run_id);
    SaveQueue(lease);
    if (answer.running && answer.run_id == lease.row.run_id)
      StopHolder(stop.thread_id, stop.cancel);
  }
  ReplyRow reply;
  reply.body = pack::ToBytes(answer);
  return reply;
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

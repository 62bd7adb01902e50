#include "state/postgres/housekeeping.h"

#include <optional>
#include <utility>

#include "base/clock.h"
#include "runtime/thread.h"
#include "state/postgres/cluster/jobs.h"
#include "state/postgres/cluster/membership.h"
#include "state/postgres/memories/memory_changes.h"

namespace agent_graph::state::postgres {
namespace {

constexpr char kJob[] = "housekeeping";
// A host that was away for longer builds its search indexes again.
constexpr std::chrono::hours kMemoryChangesKept{1};
// True for an instance whose leases or waiting runs no other host has taken over yet.
constexpr char kInstanceIsUsed[] =
    "EXISTS (SELECT 1 FROM agent_graph.lease WHERE lease.instance = instance.id) OR "
    "EXISTS (SELECT 1 FROM agent_graph.run_request WHERE run_request.instance = instance.id)";

}  // namespace

Housekeeping::Housekeeping(ConnectionOptions options, std::string instance)
    : connection_(std::move(options)), instance_(std::move(instance)) {}

Housekeeping::~Housekeeping() {
  Stop();
}

Status Housekeeping::Start() {
  return runtime::StartThread(thread_, "state-tidy", [this] { Run(); });
}

void Housekeeping::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  stop_.NotifyAll();
  connection_.Interrupt();
  if (thread_.joinable()) thread_.join();
}

Status Housekeeping::Tidy() {
  AG_ASSIGN_OR_RETURN(const std::optional<JobClaim> claim, ClaimJob(connection_, kJob, instance_));
  if (!claim) return Status::Ok();
  AG_RETURN_IF_ERROR(connection_.ExecuteAll(RemoveMemoryChanges(kMemoryChangesKept)).status());
  AG_RETURN_IF_ERROR(connection_.Execute(RemoveDeadInstances(kInstanceIsUsed)).status());
  return FinishJob(connection_, *claim, kInterval);
}

void Housekeeping::Run() {
  for (;;) {
    // After an error the next interval tries again.
    (void)Tidy();
    // Until the next interval the connection would only be idle.
    connection_.Close();
    const Deadline next = DeadlineAfter(kInterval);
    MutexLock lock(mutex_);
    while (!stopping_ && stop_.WaitUntil(mutex_, next)) continue;
    if (stopping_) return;
  }
}

}  // namespace agent_graph::state::postgres

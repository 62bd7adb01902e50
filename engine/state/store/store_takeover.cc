// Store: the runs of a host that has died, and those of this host when it starts. They are read,
// locked and taken in portions, so that no batch is large or holds its locks for long: all other
// hosts take over the same runs at the same time.
#include <algorithm>
#include <utility>

#include "state/store/store.h"

namespace agent_graph::state {
namespace {

// Leases and waiting runs that are taken over in one batch.
constexpr size_t kTakenOverAtOnce = 64;
// The requests of these runs, unless the first one is larger.
constexpr size_t kRequestBytesMax = 8 * 1024 * 1024;

// The next runs of an instance that one batch can have.
Result<std::vector<Database::AcceptedRun>> NextAcceptedRuns(Database& database,
                                                            const std::string& instance,
                                                            uint64_t first) {
  AG_ASSIGN_OR_RETURN(std::vector<Database::AcceptedRun> runs,
                      database.AcceptedRunsOf(instance, first, kTakenOverAtOnce));
  size_t bytes = 0;
  const auto end = std::ranges::find_if(runs, [&](const Database::AcceptedRun& run) {
    bytes += run.request_bytes;
    return bytes > kRequestBytesMax && bytes > run.request_bytes;
  });
  runs.erase(end, runs.end());
  return runs;
}

void AddRuns(const std::vector<Database::AcceptedRun>& runs, BatchUse& use) {
  for (const Database::AcceptedRun& run : runs) {
    if (run.thread_id.empty()) continue;
    use.threads.push_back({.thread_id = run.thread_id, .run_ids = {run.run_id}});
  }
}

}  // namespace

Status Store::LoadOwnAcceptedRuns() {
  for (uint64_t first = 0;;) {
    AG_ASSIGN_OR_RETURN(const std::vector<Database::AcceptedRun> runs,
                        NextAcceptedRuns(database_, database_.instance(), first));
    if (runs.empty()) return Status::Ok();
    BatchUse use;
    AddRuns(runs, use);
    UseRows(use);
    for (const Database::AcceptedRun& run : runs) {
      AG_RETURN_IF_ERROR(LoadAcceptedRun(database_.instance(), run));
    }
    first = runs.back().order + 1;
  }
}

void Store::AddTakenOver(const std::string& instance, uint64_t first, BatchUse& use) {
  // After a failure TakeOver asks again.
  const Result<std::vector<std::string>> threads =
      database_.ThreadsHeldBy(instance, kTakenOverAtOnce);
  if (!threads.ok()) return;
  for (const std::string& thread_id : *threads) use.threads.push_back({.thread_id = thread_id});
  if (threads->size() == kTakenOverAtOnce) return;
  const Result<std::vector<Database::AcceptedRun>> runs =
      NextAcceptedRuns(database_, instance, first);
  if (runs.ok()) AddRuns(*runs, use);
}

std::optional<uint64_t> Store::TakeOver(const std::string& instance, uint64_t first) {
  const Result<std::vector<std::string>> threads =
      database_.ThreadsHeldBy(instance, kTakenOverAtOnce);
  if (!threads.ok()) return std::nullopt;
  const size_t bytes_max = transaction_.bytes() + kPortionBytesMax;
  for (const std::string& thread_id : *threads) {
    if (transaction_.bytes() >= bytes_max) return first;
    TakeLease(instance, thread_id);
  }
  if (threads->size() == kTakenOverAtOnce) return first;
  const std::optional<uint64_t> next = TakeWaitingRuns(instance, first);
  AdmitWaiters();
  return next;
}

void Store::TakeLease(const std::string& instance, const std::string& thread_id) {
  Use(thread_id);
  const auto found = leases_.find(thread_id);
  if (found == leases_.end() || found->second.row.hosts.instance != instance) return;
  Lease& lease = found->second;
  if (IsHandedOver(lease)) return TakeHandOver(thread_id);
  lease.row.hosts.instance = database_.instance();
  lease.row.client.clear();
  transaction_.PutRow(keys::Lease(lease.thread), lease.row);
  // Together with the lease, so that a host that fails now finds both.
  if (lease.accepted && !TakeRequest(lease.thread, lease.row.run_id).ok()) transaction_.Reject();
  transaction_.Accept(true);
  LoseLease(thread_id, Loss::kHostGone);
}

std::optional<uint64_t> Store::TakeWaitingRuns(const std::string& instance, uint64_t first) {
  const Result<std::vector<Database::AcceptedRun>> runs =
      NextAcceptedRuns(database_, instance, first);
  Status taken = runs.status();
  if (runs.ok() && runs->empty()) return std::nullopt;
  for (size_t i = 0; taken.ok() && i < runs->size(); ++i) {
    const Database::AcceptedRun& run = (*runs)[i];
    // The next batch locks the others, all at once.
    if (!run.thread_id.empty() && !used_threads_.contains(run.thread_id)) break;
    taken = LoadAcceptedRun(instance, run);
    first = run.order + 1;
  }
  if (taken.ok()) return first;
  reports_.push_back({LogLevel::kAlert, "the runs that wait at instance " + instance +
                                            " cannot be taken over: " + taken.ToString()});
  return std::nullopt;
}

}  // namespace agent_graph::state

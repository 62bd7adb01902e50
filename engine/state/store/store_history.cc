// Store: runs whose history the database has lost, by a restore or by a failover to a standby that
// was behind.

#include <utility>

#include "state/rules/lost_run.h"
#include "state/store/store.h"

namespace agent_graph::state {
namespace {

// Threads whose runs are ended in one batch.
constexpr size_t kEndedAtOnce = 64;

}  // namespace

void Store::EndLostHistory(const std::string& thread_id) {
  database_status_->acked_lost.fetch_add(1, std::memory_order_relaxed);
  reports_.push_back({LogLevel::kAlert, "the database has lost entries of run " +
                                            leases_.at(thread_id).row.run_id +
                                            " that it had acknowledged: the run ends"});
  EndWithoutHistory(thread_id);
}

// The entries that end the run have a new epoch, so that readers notice that lost entries, which
// they have read, were replaced.
void Store::EndWithoutHistory(const std::string& thread_id) {
  Lease& lease = leases_.at(thread_id);
  const Result<std::optional<RunRow>> run =
      transaction_.GetRow<RunRow>(keys::Run(lease.thread, lease.row.run_id));
  const bool has_begun =
      lease.row.last_append > 0 || (run.ok() && *run && (*run)->record.started_micros != 0);
  if (lease.accepted && !has_begun) {
    EndReserved(thread_id, RunState::kError, kHistoryLost);
  } else {
    ++lease.row.epoch;
    StageEndOfLostRun(lease, kHistoryLost);
    EndLease(thread_id);
  }
  transaction_.Accept(true);
}

Result<size_t> Store::EndRunsOf(const std::string& instance) {
  AG_ASSIGN_OR_RETURN(const std::vector<std::string> threads,
                      database_.ThreadsHeldBy(instance, kEndedAtOnce));
  size_t ended = 0;
  const size_t bytes_max = transaction_.bytes() + kPortionBytesMax;
  for (const std::string& thread_id : threads) {
    if (transaction_.bytes() >= bytes_max) break;
    Use(thread_id);
    const auto found = leases_.find(thread_id);
    if (found == leases_.end() || found->second.row.hosts.instance != instance) continue;
    EndWithoutHistory(thread_id);
    ++ended;
  }
  if (!threads.empty()) return ended;
  return EndQueuedRunsOf(instance);
}

// Ends runs that were granted to no worker yet.
Result<size_t> Store::EndQueuedRunsOf(const std::string& instance) {
  std::vector<std::pair<std::string, RunRequestRow>> found;
  const std::string prefix = keys::TablePrefix(keys::Table::kRunRequest);
  AG_RETURN_IF_ERROR(database_.Scan(prefix, keys::PrefixEnd(prefix),
                                    [&](std::string_view key, std::string_view value) {
                                      RunRequestRow row;
                                      if (!pack::FromBytes(value, row) || row.instance != instance)
                                        return true;
                                      row.accept.request.clear();
                                      found.emplace_back(key, std::move(row));
                                      return found.size() < kEndedAtOnce;
                                    }));
  for (const auto& [key, row] : found) {
    const BeginRunRequest& begin = row.accept.begin;
    Use(begin.thread_id);
    keys::Parser parser(key, keys::Table::kRunRequest);
    EndUnexecuted(begin.thread_id, parser.Thread(), begin.run_id, RunState::kError, kHistoryLost);
    transaction_.Accept(true);
  }
  return found.size();
}

}  // namespace agent_graph::state

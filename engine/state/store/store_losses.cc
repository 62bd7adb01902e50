// Store: leases that their clients no longer hold: accepted runs get another worker, other runs
// end. A busy worker has thousands of them, and each may write a state of several megabytes. So
// they are lost a portion at a time, and other requests are executed between two portions.
#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "state/rules/lost_run.h"
#include "state/store/crash_report.h"
#include "state/store/store.h"

namespace agent_graph::state {
namespace {

constexpr size_t kLostAtOnce = 64;

}  // namespace

std::optional<std::string> Store::LoseLease(const std::string& thread_id, Loss loss) {
  Use(thread_id);
  auto found = leases_.find(thread_id);
  if (found == leases_.end()) return std::nullopt;
  Lease& lease = found->second;
  const bool sync = sync_ != SyncLevel::kNone;
  std::string reason = kWorkerLost;
  if (lease.accepted) {
    const std::string client = lease.row.client;
    const bool has_begun = lease.has_begun();
    Result<std::string> none = StageNextAttempt(lease, loss);
    if (none.ok() && none->empty()) {
      transaction_.Accept(sync);
      has_begun ? WaitForGrant(thread_id, MonotonicClock::now()) : GrantElsewhere(lease, client);
      return std::string();
    }
    if (none.ok()) reason = *std::move(none);
    transaction_.Reject();
  }
  StageEndOfLostRun(lease, reason);
  if (reason == kPoisoned) CountRun(&RunTotals::poisoned);
  EndLease(thread_id);
  transaction_.Accept(sync);
  return reason;
}

void Store::LoseLeasesOf(const std::string& client, const ClientHello* hello, bool crashed) {
  std::vector<std::string> lost;
  size_t suspects = 0;
  size_t in_user_code = 0;
  for (const auto& [thread_id, lease] : leases_) {
    const LeaseRow& row = lease.row;
    if (row.client != client || !IsOurs(lease) || lease.is_lost) continue;
    if (hello != nullptr && hello->Holds(thread_id, row.run_id, row.epoch)) continue;
    lost.push_back(thread_id);
    if (!row.in_user_code) continue;
    ++in_user_code;
    if (lease.suspect) ++suspects;
  }
  Loss loss = Loss::kLeft;
  if (crashed && suspects == 1) loss = in_user_code == 1 ? Loss::kCrash : Loss::kCrashBeside;
  if (crashed && suspects != 1) loss = Loss::kUnclearCrash;
  AddLostLeases(std::move(lost), loss);
}

// From now on requests of the client about these runs have no effect.
void Store::AddLostLeases(std::vector<std::string> thread_ids, Loss loss) {
  // Accepted runs are granted again in this order.
  std::ranges::sort(thread_ids);
  size_t reports = 0;
  for (const std::string& thread_id : thread_ids) {
    Lease& lease = leases_.at(thread_id);
    const bool is_reported = IsCrash(loss) && reports < kCrashReportsMax && MayBeInUserCode(lease);
    if (is_reported) ++reports;
    lease.is_lost = true;
    lost_leases_.push_back({thread_id, lease.row.client, lease.row.epoch, loss, is_reported});
  }
}

std::vector<std::string> Store::NextLostThreads() const {
  std::vector<std::string> threads;
  for (const LostLease& lost : lost_leases_) {
    if (threads.size() == kLostAtOnce) break;
    threads.push_back(lost.thread_id);
  }
  return threads;
}

void Store::LoseSomeLeases() {
  const std::vector<std::string> threads = NextLostThreads();
  UseAll(threads);  // in a shared database they are used already, unless this batch has lost them
  const size_t bytes_max = transaction_.bytes() + kPortionBytesMax;
  for (size_t i = 0; i < threads.size() && transaction_.bytes() < bytes_max; ++i) {
    const LostLease lost = std::move(lost_leases_.front());
    lost_leases_.pop_front();
    LoseListed(lost);
  }
  next_loss_ = lost_leases_.empty() ? kNoDeadline : MonotonicClock::now();
}

void Store::LoseListed(const LostLease& lost) {
  const auto found = leases_.find(lost.thread_id);
  if (found == leases_.end()) return;
  // The lease may have ended meanwhile, and a later one may have begun.
  const LeaseRow row = found->second.row;
  if (row.client != lost.client || row.epoch != lost.epoch || !IsOurs(found->second)) return;
  const bool accepted = found->second.accepted;
  const std::optional<std::string> reason = LoseLease(lost.thread_id, lost.loss);
  if (reason && lost.is_reported) {
    reports_.push_back({LogLevel::kError, CrashReport(row, accepted, *reason)});
  }
}

}  // namespace agent_graph::state

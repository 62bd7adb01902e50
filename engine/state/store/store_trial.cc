// Store: requests whose effect in memory can be undone, because their commit may be refused.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "state/store/store.h"

namespace agent_graph::state {

bool Store::CanTry(const BatchUse& use) const {
  const bool is_between_batches = replies_.empty() && notices_.empty() && admissions_.empty();
  if (!is_between_batches || database_.low_on_space()) return false;
  return std::ranges::all_of(use.threads, [this](const ThreadUse& thread) {
    const auto lease = leases_.find(thread.thread_id);
    // With waiters, the end of a run would begin the next one, which cannot be undone.
    return lease == leases_.end() || (IsOurs(lease->second) && lease->second.waiters.empty());
  });
}

bool Store::KnowsLeases(const BatchUse& use) const {
  return std::ranges::all_of(use.threads, [this](const ThreadUse& used) {
    const Result<std::optional<ThreadRow>> thread = FindThread(transaction_, used.thread_id);
    if (!thread.ok() || !*thread) return false;
    const Result<std::optional<LeaseRow>> row =
        transaction_.GetRow<LeaseRow>(keys::Lease((*thread)->key()));
    const auto lease = leases_.find(used.thread_id);
    if (!row.ok() || row->has_value() != (lease != leases_.end())) return false;
    return !*row ||
           ((*row)->run_id == lease->second.row.run_id && (*row)->epoch == lease->second.row.epoch);
  });
}

void Store::BeginTrial(const BatchUse& use, const std::vector<std::string>& clients) {
  trial_.emplace();
  for (const ThreadUse& thread : use.threads) {
    const auto lease = leases_.find(thread.thread_id);
    std::optional<Lease> before;
    if (lease != leases_.end()) before = lease->second;
    trial_->leases.emplace(thread.thread_id, std::move(before));
    trial_->ungranted.emplace(thread.thread_id, ungranted_.Find(thread.thread_id));
  }
  for (const std::string& client : clients) {
    if (const auto entry = clients_.find(client); entry != clients_.end()) {
      trial_->clients.emplace(client, entry->second);
    }
  }
  trial_->waiters = waiters_;
  trial_->reports = reports_.size();
}

void Store::EndTrial(bool committed) {
  std::optional<Trial> trial = std::exchange(trial_, std::nullopt);
  if (committed) return;
  for (auto& [thread_id, lease] : trial->leases) {
    leases_.erase(thread_id);
    if (lease) leases_.emplace(thread_id, *std::move(lease));
  }
  for (auto& [client, entry] : trial->clients) {
    clients_.insert_or_assign(client, std::move(entry));
  }
  for (const auto& [thread_id, times] : trial->ungranted) {
    times ? ungranted_.Put(thread_id, *times) : ungranted_.Erase(thread_id);
  }
  waiters_ = trial->waiters;
  reports_.erase(reports_.begin() + static_cast<ptrdiff_t>(trial->reports), reports_.end());
  admissions_.clear();
  replies_.clear();
  notices_.clear();
  changed_runs_.clear();
  memories_.ForgetChanges();
  used_threads_.clear();
  (void)transaction_.TakeNoted();
}

}  // namespace agent_graph::state

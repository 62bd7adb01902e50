#include "state/store/ungranted_runs.h"

namespace agent_graph::state {

void UngrantedRuns::Put(const std::string& thread_id, Deadline not_before) {
  Erase(thread_id);
  times_.emplace(thread_id, not_before);
  order_.emplace(not_before, thread_id);
}

void UngrantedRuns::Erase(const std::string& thread_id) {
  const auto found = times_.find(thread_id);
  if (found == times_.end()) return;
  order_.erase({found->second, thread_id});
  times_.erase(found);
}

std::optional<Deadline> UngrantedRuns::Find(const std::string& thread_id) const {
  const auto found = times_.find(thread_id);
  if (found == times_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> UngrantedRuns::Due(MonotonicClock::time_point now, size_t count) const {
  std::vector<std::string> due;
  for (const auto& [not_before, thread_id] : order_) {
    if (not_before > now || due.size() == count) break;
    due.push_back(thread_id);
  }
  return due;
}

void UngrantedRuns::MakeDue(MonotonicClock::time_point now) {
  std::vector<std::string> later;
  for (auto run = order_.upper_bound({now, {}}); run != order_.end(); ++run) {
    if (run->first > now) later.push_back(run->second);
  }
  for (const std::string& thread_id : later) Put(thread_id, now);
}

}  // namespace agent_graph::state

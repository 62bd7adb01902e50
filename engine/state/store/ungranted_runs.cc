#include "state/store/ungranted_runs.h"

namespace agent_graph::state {
namespace {

// The first threads in the order whose time has come.
std::vector<std::string> FirstUntil(MonotonicClock::time_point now,
                                    const std::set<std::pair<Deadline, std::string>>& order,
                                    size_t count) {
  std::vector<std::string> threads;
  for (const auto& [time, thread_id] : order) {
    if (time > now || threads.size() == count) break;
    threads.push_back(thread_id);
  }
  return threads;
}

}  // namespace

void UngrantedRuns::Put(const std::string& thread_id, const UngrantedTimes& times) {
  Erase(thread_id);
  times_.emplace(thread_id, times);
  order_.emplace(times.not_before, thread_id);
  if (times.deadline != kNoDeadline) deadlines_.emplace(times.deadline, thread_id);
}

void UngrantedRuns::Erase(const std::string& thread_id) {
  const auto found = times_.find(thread_id);
  if (found == times_.end()) return;
  order_.erase({found->second.not_before, thread_id});
  deadlines_.erase({found->second.deadline, thread_id});
  times_.erase(found);
}

std::optional<UngrantedTimes> UngrantedRuns::Find(const std::string& thread_id) const {
  const auto found = times_.find(thread_id);
  if (found == times_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> UngrantedRuns::Due(MonotonicClock::time_point now, size_t count) const {
  return FirstUntil(now, order_, count);
}

std::vector<std::string> UngrantedRuns::Overdue(MonotonicClock::time_point now,
                                                size_t count) const {
  return FirstUntil(now, deadlines_, count);
}

void UngrantedRuns::MakeDue(MonotonicClock::time_point now) {
  std::vector<std::string> later;
  for (auto run = order_.upper_bound({now, {}}); run != order_.end(); ++run) {
    if (run->first > now) later.push_back(run->second);
  }
  for (const std::string& thread_id : later) {
    Put(thread_id, {.not_before = now, .deadline = times_.at(thread_id).deadline});
  }
}

}  // namespace agent_graph::state

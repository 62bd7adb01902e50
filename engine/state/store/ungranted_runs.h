// The accepted runs that have their thread and wait for a worker.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace agent_graph::state {

// Threads whose run waits, and since when each of them may be granted. Not thread-safe.
class UngrantedRuns {
 public:
  bool empty() const { return times_.empty(); }
  size_t size() const { return times_.size(); }
  // Adds the thread, or moves it in the order.
  void Put(const std::string& thread_id, Deadline not_before);
  void Erase(const std::string& thread_id);
  // Since when the thread's run may be granted; nullopt: it does not wait.
  std::optional<Deadline> Find(const std::string& thread_id) const;
  // When the next run may be granted; kNoDeadline: none waits.
  Deadline next() const { return order_.empty() ? kNoDeadline : order_.begin()->first; }
  bool HasDue(MonotonicClock::time_point now) const { return !empty() && next() <= now; }
  // Up to `count` threads that are due, the one that has been due for the longest time first.
  std::vector<std::string> Due(MonotonicClock::time_point now, size_t count) const;
  // Those that would have to wait may be granted now. They come behind the others.
  void MakeDue(MonotonicClock::time_point now);

 private:
  std::map<std::string, Deadline> times_;  // by thread id
  std::set<std::pair<Deadline, std::string>> order_;
};

}  // namespace agent_graph::state

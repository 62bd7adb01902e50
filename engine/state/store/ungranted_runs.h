// The accepted runs that have their thread and wait for a worker.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace agent_graph::state {

struct UngrantedTimes {
  Deadline not_before;  // since when the run may be granted
  Deadline deadline;    // of the run
};

// Threads whose run waits, with the times of these runs. Not thread-safe.
class UngrantedRuns {
 public:
  bool empty() const { return times_.empty(); }
  size_t size() const { return times_.size(); }
  // Adds the thread, or moves it in the order.
  void Put(const std::string& thread_id, const UngrantedTimes& times);
  void Erase(const std::string& thread_id);
  // nullopt: the thread's run does not wait.
  std::optional<UngrantedTimes> Find(const std::string& thread_id) const;
  // When the next run may be granted; kNoDeadline: none waits.
  Deadline next() const { return FirstOf(order_); }
  // The earliest deadline; kNoDeadline: none.
  Deadline next_deadline() const { return FirstOf(deadlines_); }
  bool HasDue(MonotonicClock::time_point now) const { return !empty() && next() <= now; }
  // Up to `count` threads that are due, the one that has been due for the longest time first.
  std::vector<std::string> Due(MonotonicClock::time_point now, size_t count) const;
  // The same for threads whose run has reached its deadline.
  std::vector<std::string> Overdue(MonotonicClock::time_point now, size_t count) const;
  // Those that would have to wait may be granted now. They come behind the others.
  void MakeDue(MonotonicClock::time_point now);

 private:
  using Order = std::set<std::pair<Deadline, std::string>>;
  static Deadline FirstOf(const Order& order) {
    return order.empty() ? kNoDeadline : order.begin()->first;
  }

  std::map<std::string, UngrantedTimes> times_;  // by thread id
  Order order_;                                  // by not_before
  Order deadlines_;                              // only runs that have a deadline
};

}  // namespace agent_graph::state

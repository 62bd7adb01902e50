// Requests that wait until a run goes on. A request is parked under its thread, and
// handed back when the thread's runs have changed, or at its deadline.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "state/calls/executor.h"

namespace agent_graph::state {

// Thread-safe. No call blocks.
class Followers {
 public:
  struct Parked {
    Request request;
    Deadline deadline;
  };

  // Call before a read whose request may be parked. End must follow, also after Park.
  uint64_t Begin(const std::string& thread_id);
  void End(const std::string& thread_id);
  enum class Outcome : uint8_t {
    kParked,
    kChanged,  // the thread has changed since Begin: read again
    kFull,     // too many requests wait
  };
  // Moves `parked` only if it returns kParked.
  Outcome Park(const std::string& thread_id, uint64_t version, Parked& parked);

  // Returns the requests of these threads, which have changed.
  std::vector<Parked> TakeChanged(const std::vector<std::string>& thread_ids);
  // Returns the requests whose deadline has passed.
  std::vector<Parked> TakeOverdue(MonotonicClock::time_point now);
  bool empty() const { return threads_with_interest_ == 0; }
  // The threads with parked requests.
  std::vector<std::string> Threads() const;

 private:
  struct Thread {
    uint64_t version = 0;
    size_t readers = 0;
    std::vector<Parked> parked;
  };
  void Forget(const std::string& thread_id) AG_REQUIRES(mutex_);

  std::atomic<size_t> threads_with_interest_{0};
  mutable Mutex mutex_;
  std::unordered_map<std::string, Thread> threads_ AG_GUARDED_BY(mutex_);
  size_t parked_ AG_GUARDED_BY(mutex_) = 0;
  uint64_t next_version_ AG_GUARDED_BY(mutex_) = 1;
};

}  // namespace agent_graph::state

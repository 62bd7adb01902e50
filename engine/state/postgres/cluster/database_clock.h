// The clock of the database's server, which all of its hosts share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace agent_graph::state::postgres {

// The time of the server, as this host's monotonic clock continues it between two readings. The
// wall clock of the host counts only until the first reading. Thread-safe.
class DatabaseClock {
 public:
  DatabaseClock();

  // The server has read `server_micros` at a moment between `began` and `ended`. A reading that
  // took long proves little, so it changes the clock only as far as it contradicts it.
  void Set(int64_t server_micros, MonotonicClock::time_point began,
           MonotonicClock::time_point ended);
  // Microseconds since 1970.
  int64_t Now() const { return At(MonotonicClock::now()); }
  int64_t At(MonotonicClock::time_point time) const {
    return MicrosOf(time) + offset_.load(std::memory_order_relaxed);
  }

 private:
  static int64_t MicrosOf(MonotonicClock::time_point time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
  }

  std::atomic<int64_t> offset_;  // to the monotonic clock, in microseconds
  std::atomic<bool> is_set_{false};
};

}  // namespace agent_graph::state::postgres

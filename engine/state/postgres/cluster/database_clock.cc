#include "state/postgres/cluster/database_clock.h"

#include <algorithm>

namespace agent_graph::state::postgres {

DatabaseClock::DatabaseClock() : offset_(UnixMicros() - MicrosOf(MonotonicClock::now())) {}

void DatabaseClock::Set(int64_t server_micros, MonotonicClock::time_point began,
                        MonotonicClock::time_point ended) {
  const int64_t lowest = server_micros - MicrosOf(ended);
  const int64_t highest = server_micros - MicrosOf(began);
  const bool is_first = !is_set_.exchange(true, std::memory_order_relaxed);
  const int64_t known = is_first ? (lowest + highest) / 2 : offset_.load(std::memory_order_relaxed);
  offset_.store(std::clamp(known, lowest, highest), std::memory_order_relaxed);
}

}  // namespace agent_graph::state::postgres

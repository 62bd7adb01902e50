// Counters of a state client.
#pragma once

#include <atomic>
#include <cstdint>

namespace agent_graph::state {

// Number of answered operations and their total latency in microseconds, without those that the
// server had queued for a busy thread. The counters only grow. Thread-safe.
struct ClientCounters {
  std::atomic<uint64_t> answers{0};
  std::atomic<uint64_t> micros{0};
};

}  // namespace agent_graph::state

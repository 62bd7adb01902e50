// Counters of a rate limit in Redis, for the status page of the worker.
#pragma once

#include <atomic>
#include <cstdint>

namespace agent_graph::limits {

// Counters only increase. Thread-safe.
struct SharedRateCounters {
  std::atomic<uint64_t> admitted{0};
  std::atomic<uint64_t> refused{0};    // includes requests refused because Redis did not answer
  std::atomic<uint64_t> unchecked{0};  // admitted because Redis did not answer
};

}  // namespace agent_graph::limits

// What a rate limit in Redis tells the status page of its worker.
#pragma once

#include <atomic>
#include <cstdint>

namespace agent_graph::limits {

// Only grows. Thread-safe.
struct SharedRateCounters {
  std::atomic<uint64_t> admitted{0};
  std::atomic<uint64_t> refused{0};    // also for want of an answer
  std::atomic<uint64_t> unchecked{0};  // let through for want of an answer
};

}  // namespace agent_graph::limits

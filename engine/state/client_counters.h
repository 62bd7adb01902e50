// What a client of the state counts.
#pragma once

#include <atomic>
#include <cstdint>

namespace agent_graph::state {

// Operations that the owner answered, and how long that took in all; those it had queued for a busy
// thread are left out. Only grows. Thread-safe.
struct ClientCounters {
  std::atomic<uint64_t> answers{0};
  std::atomic<uint64_t> micros{0};
};

}  // namespace agent_graph::state

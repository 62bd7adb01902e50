// Counters of a worker's live sessions for the status page.
#pragma once

#include <atomic>
#include <cstdint>

namespace agent_graph::live {

// Thread-safe.
struct LiveCounters {
  std::atomic<uint64_t> sessions{0};  // open sessions
  std::atomic<uint64_t> sessions_total{0};
  std::atomic<uint64_t> sessions_refused{0};
  std::atomic<uint64_t> reconnects{0};
  // Frames sent to models, and the sum of their waiting times in the queue.
  std::atomic<uint64_t> frames_forwarded{0};
  std::atomic<uint64_t> forward_micros{0};
  // Audio chunks sent to clients, and the sum of their times from arrival at this worker until
  // then.
  std::atomic<uint64_t> audio_forwarded{0};
  std::atomic<uint64_t> audio_micros{0};
  std::atomic<uint64_t> upstream_dropped{0};    // audio frames from clients
  std::atomic<uint64_t> upstream_ignored{0};    // frames that are not valid here
  std::atomic<uint64_t> downstream_dropped{0};  // audio chunks for clients
};

}  // namespace agent_graph::live

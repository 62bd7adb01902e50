// What the live sessions of a worker tell its status page.
#pragma once

#include <atomic>
#include <cstdint>

namespace agent_graph::live {

// Thread-safe.
struct LiveCounters {
  std::atomic<uint64_t> sessions{0};  // open now
  std::atomic<uint64_t> sessions_total{0};
  std::atomic<uint64_t> sessions_refused{0};
  std::atomic<uint64_t> reconnects{0};
  // Frames that went to a model, and how long they waited for it in all.
  std::atomic<uint64_t> frames_forwarded{0};
  std::atomic<uint64_t> forward_micros{0};
  // Pieces of sound that went to clients, and how long that took since they came from the model.
  std::atomic<uint64_t> sound_forwarded{0};
  std::atomic<uint64_t> sound_micros{0};
  std::atomic<uint64_t> upstream_dropped{0};    // frames of clients
  std::atomic<uint64_t> upstream_ignored{0};    // frames that mean nothing
  std::atomic<uint64_t> downstream_dropped{0};  // pieces of sound for clients
};

}  // namespace agent_graph::live

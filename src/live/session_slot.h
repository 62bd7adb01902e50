// SessionSlot: one of the live sessions that a worker may have at the same time.
#pragma once

#include <cstdint>

#include "live/counters.h"

namespace agent_graph::live {

// The constructor takes a slot if the worker has fewer than `sessions_max` sessions; the destructor
// releases it. Thread-safe.
class SessionSlot {
 public:
  SessionSlot(LiveCounters& counters, uint64_t sessions_max) : counters_(counters) {
    taken_ = ++counters_.sessions <= sessions_max;
    ++(taken_ ? counters_.sessions_total : counters_.sessions_refused);
  }
  ~SessionSlot() { --counters_.sessions; }
  SessionSlot(const SessionSlot&) = delete;
  SessionSlot& operator=(const SessionSlot&) = delete;
  bool taken() const { return taken_; }

 private:
  LiveCounters& counters_;
  bool taken_ = false;
};

}  // namespace agent_graph::live

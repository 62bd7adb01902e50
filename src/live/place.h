// A slot for a live session. The constructor takes one if the worker has fewer than `sessions_max`;
// the destructor releases it. Thread-safe.
#pragma once

#include <cstdint>

#include "live/counters.h"

namespace agent_graph::live {

class Place {
 public:
  Place(LiveCounters& counters, uint64_t sessions_max) : counters_(counters) {
    taken_ = ++counters_.sessions <= sessions_max;
    ++(taken_ ? counters_.sessions_total : counters_.sessions_refused);
  }
  ~Place() { --counters_.sessions; }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  bool taken() const { return taken_; }

 private:
  LiveCounters& counters_;
  bool taken_ = false;
};

}  // namespace agent_graph::live

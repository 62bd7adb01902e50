// Recent failures of a model's provider, for the readiness of a worker. It refuses no
// call: each call tries the provider, and a success closes the circuit.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace agent_graph::models {

// Thread-safe, without locks.
class Circuit {
 public:
  static constexpr uint32_t kFailuresMax = 5;       // in a row open it
  static constexpr std::chrono::seconds kOpen{30};  // after the last failure it is closed again

  // The provider has answered, if only with a refusal of the request.
  void Answered() { failures_.store(0, std::memory_order_relaxed); }
  // The provider could not be reached, or was not able to answer.
  void Failed(MonotonicClock::time_point now) {
    last_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    failures_.fetch_add(1, std::memory_order_relaxed);
  }
  bool IsOpen(MonotonicClock::time_point now) const {
    if (failures_.load(std::memory_order_relaxed) < kFailuresMax) return false;
    const MonotonicClock::duration last(last_.load(std::memory_order_relaxed));
    return now.time_since_epoch() - last < kOpen;
  }

 private:
  std::atomic<uint32_t> failures_{0};  // since the last answer
  std::atomic<MonotonicClock::rep> last_{0};
};

}  // namespace agent_graph::models

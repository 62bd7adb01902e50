// Reads the totals of accepted runs from the state, again and again, for the status page.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "runtime/cancellation.h"
#include "state/service.h"

namespace agent_graph::runtime {
class Runtime;
}

namespace agent_graph::service {

// Thread-safe. The values are those of the latest answer of the state server, or zero.
class RunTotalsWatch {
 public:
  static constexpr std::chrono::milliseconds kInterval{2000};

  // Starts a fiber, which uses this object until Close has ended it. `state` must live as long.
  void Start(runtime::Runtime& runtime, state::Service& state);
  // Ends the fiber; returns at once.
  void Close() { cancellation_.Cancel(runtime::CancelReason::kShutdown); }

  uint64_t continued() const { return continued_.load(std::memory_order_relaxed); }
  uint64_t poisoned() const { return poisoned_.load(std::memory_order_relaxed); }
  uint64_t longest_wait_micros() const { return wait_micros_.load(std::memory_order_relaxed); }

 private:
  void Watch(state::Service& state);

  std::atomic<uint64_t> continued_{0};
  std::atomic<uint64_t> poisoned_{0};
  std::atomic<uint64_t> wait_micros_{0};
  const runtime::Cancellation cancellation_;
};

}  // namespace agent_graph::service

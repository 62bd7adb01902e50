// Memory that the calls of a tool node wait for and hold.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace agent_graph::run {

// Implemented by whoever executes the node: a run, a live session, a request for one call. Used by
// the fibers of the calls, which are all on one thread.
class CallMemory {
 public:
  virtual ~CallMemory() = default;
  // Waits for memory of `bytes` more of JSON, which HoldCalls counts from then on. Suspends the
  // calling fiber. kResourceExhausted: other requests took too long to free memory.
  virtual Status AwaitMemory(uint64_t bytes) = 0;
  // Reports the weight of all replies and outputs of tools that are no part of the thread yet.
  virtual void HoldCalls(uint64_t bytes) = 0;
};

}  // namespace agent_graph::run

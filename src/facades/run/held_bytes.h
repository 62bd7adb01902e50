// Counts what a reader of a run keeps as memory of its request.
#pragma once

#include <cstdint>

namespace agent_graph::bridge {
class Exchange;
}

namespace agent_graph::facades {

// For a request that follows a run. A request that executes its run itself needs none: the run
// reports what it holds (run::RunSink::OnHeld), and FacadeRun::kept_bytes is added to it. Used by
// the fiber of the request.
class HeldBytes {
 public:
  // `exchange` must outlive it; nullptr: nothing is counted.
  explicit HeldBytes(bridge::Exchange* exchange = nullptr) : exchange_(exchange) {}

  // Sets the number of bytes that the reader keeps. Growth of less than 64 KiB is counted later.
  void Set(uint64_t bytes);

 private:
  bridge::Exchange* exchange_;
  uint64_t counted_ = 0;
};

}  // namespace agent_graph::facades

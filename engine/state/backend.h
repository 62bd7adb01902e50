// state::Backend: everything durable, as workers and the administration program see it. Made by
// MakeBackend (state/factory/factory.h) from StateOptions.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/duration_histogram.h"
#include "base/status.h"
#include "state/maintenance.h"
#include "state/memories.h"
#include "state/service.h"

namespace agent_graph::state {

// Number of answered operations and their latency, without those that waited for a busy thread. The
// counters only grow. Thread-safe.
struct BackendCounters {
  std::atomic<uint64_t> answers{0};
  std::atomic<uint64_t> micros{0};  // the sum
  DurationHistogram durations{};
};

// Thread-safe. Calls suspend the calling fiber; outside of a fiber they block the thread.
class Backend : public Service, public Memories, public Maintenance {
 public:
  // Starts the backend's threads; call after fork. The stored data may become available later.
  virtual Status Start() = 0;
  // Releases all leases of this object. Operations that are not answered yet, and later ones, fail
  // with kUnavailable.
  virtual void Stop() = 0;
  // Grants this client no further accepted runs: the process is about to leave. Thread-safe.
  virtual void RefuseGrants() = 0;
  virtual const BackendCounters& counters() const = 0;
  // Ok if the stored data can be read now.
  virtual Status Probe(const runtime::Cancellation& cancellation) = 0;
};

}  // namespace agent_graph::state

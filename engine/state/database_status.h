// Figures about a database that hosts share, for metrics. The process of the state server counts
// them.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/duration_histogram.h"

namespace agent_graph::state {

// Counters of all connections that share this object. They only grow. Thread-safe.
struct ConnectionCounters {
  std::atomic<uint64_t> round_trips{0};
  std::atomic<uint64_t> commands{0};
  std::atomic<uint64_t> sessions{0};         // opened
  std::atomic<uint64_t> failed_attempts{0};  // to open one
  std::atomic<uint64_t> lost_sessions{0};    // ended while they were in use
  std::atomic<uint64_t> retries{0};          // after serialization failures and deadlocks
  std::atomic<uint64_t> timeouts{0};         // lock_timeout and statement_timeout
  DurationHistogram durations{};             // durations of round trips that were answered
};

// The backend writes it, any thread may read it. The values before the backend has reached the
// database are those of the initializers.
struct DatabaseStatus {
  static constexpr uint64_t kUnknown = ~uint64_t{0};

  ConnectionCounters connections{};  // for reads and writes, not for beats and housekeeping
  DurationHistogram commits{};
  std::atomic<uint64_t> readers_busy{0};
  std::atomic<uint64_t> readers_awaited{0};  // reads that wait for a connection
  // Monotonic clock of the machine, in microseconds; 0: no beat was committed yet.
  std::atomic<int64_t> last_beat_micros{0};
  std::atomic<uint64_t> takeovers{0};   // instances that this host has declared dead
  std::atomic<uint64_t> acked_lost{0};  // runs of which acknowledged entries are missing
  std::atomic<uint64_t> fenced{0};      // batches that were refused: the instance was dead
  // Messages of the link between hosts.
  std::atomic<uint64_t> link_sent{0};
  std::atomic<uint64_t> link_received{0};
  std::atomic<uint64_t> link_dropped{0};  // too many, too large, or the database was away
  // Read every few seconds. Unknown: the role may not read them, or it has failed.
  std::atomic<uint64_t> standbys{kUnknown};
  std::atomic<uint64_t> standby_lag_micros{kUnknown};  // lag of the slowest standby
  std::atomic<uint64_t> dead_rows{kUnknown};           // dead rows of the table `lease`
};

}  // namespace agent_graph::state

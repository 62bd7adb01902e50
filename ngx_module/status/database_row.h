// Figures of the database of a service, in shared memory. They are written by the
// process that holds the state server, read by the process that answers a status request.
#pragma once

#include <atomic>
#include <cstdint>

#include "ngx_module/config.h"
#include "state/database_status.h"

namespace agent_graph::nginx {

enum class DatabaseValue : uint8_t {
  kIsReported,  // 1: the service has such a database
  kRoundTrips,
  kSessions,
  kFailedAttempts,
  kLostSessions,
  kRetries,
  kTimeouts,
  kReadersBusy,
  kReadersAwaited,
  kLastBeatMicros,  // on the monotonic clock, which all processes share
  kTakeovers,
  kAckedLost,
  kFenced,
  kLinkSent,
  kLinkReceived,
  kLinkDropped,
  kStandbys,
  kStandbyLagMicros,
  kDeadRows,
  kCount
};

struct DatabaseRow {
  std::atomic<uint64_t> values[static_cast<size_t>(DatabaseValue::kCount)];

  uint64_t Get(DatabaseValue value) const {
    return values[static_cast<size_t>(value)].load(std::memory_order_relaxed);
  }
  void Set(DatabaseValue value, uint64_t number) {
    values[static_cast<size_t>(value)].store(number, std::memory_order_relaxed);
  }
};

// Copies the values into the shared memory of the service, if it has some.
void ReportDatabase(const ServiceConfig& service, const state::DatabaseStatus& status);

}  // namespace agent_graph::nginx

// A copy of what the workers of a service have reported, for the status page.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ngx_module/config.h"
#include "ngx_module/status/duration_zone.h"
#include "ngx_module/status/status_rows.h"

namespace agent_graph::nginx {

// A running worker process.
struct WorkerStatus {
  int64_t pid;
  uint64_t generation;  // counts configurations
  uint32_t number;
  bool draining;
  uint64_t gauges[kCountOf<StatusGauge>];

  uint64_t Get(StatusGauge gauge) const { return gauges[static_cast<size_t>(gauge)]; }
};

struct ServiceStatus {
  std::string name;
  // Sums over all workers, including those that have ended.
  std::unique_ptr<StatusCounters> counters = std::make_unique<StatusCounters>();
  std::vector<WorkerStatus> workers;
  // Histograms by DurationKind, of all workers as well.
  std::array<std::vector<NamedCounts>, kCountOf<DurationKind>> durations;

  // Values by DatabaseValue; empty if no database of hosts was reported.
  std::vector<uint64_t> database;

  uint64_t Sum(StatusGauge gauge) const;
  uint64_t Max(StatusGauge gauge) const;
};

// Reads the shared memory under the lock of the service's zone, and /proc before that.
ServiceStatus ReadStatus(const ServiceConfig& service);

}  // namespace agent_graph::nginx

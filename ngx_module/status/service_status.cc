#include "ngx_module/status/service_status.h"

#include <algorithm>

#include "ngx_module/status/service_zone.h"

namespace agent_graph::nginx {

uint64_t ServiceStatus::Sum(StatusGauge gauge) const {
  uint64_t sum = 0;
  for (const WorkerStatus& worker : workers) sum += worker.Get(gauge);
  return sum;
}

uint64_t ServiceStatus::Max(StatusGauge gauge) const {
  uint64_t max = 0;
  for (const WorkerStatus& worker : workers) max = std::max(max, worker.Get(gauge));
  return max;
}

ServiceStatus ReadStatus(const ServiceConfig& service) {
  ServiceStatus status;
  status.name = service.name;
  for (size_t kind = 0; kind < kCountOf<DurationKind>; ++kind) {
    status.durations[kind] = ReadDurations(service, static_cast<DurationKind>(kind));
  }
  ServiceZone* zone = FindZone(service);
  if (zone == nullptr) return status;
  if (zone->database.Get(DatabaseValue::kIsReported) != 0) {
    for (size_t value = 0; value < kCountOf<DatabaseValue>; ++value) {
      status.database.push_back(zone->database.Get(static_cast<DatabaseValue>(value)));
    }
  }
  const RowOwners owners(*zone);
  // Rows move to the retired counters under this lock, so that nothing is missed or counted twice.
  ZoneLock lock(service);
  status.counters->Fold(zone->retired);
  for (uint32_t i = 0; i < zone->row_count; ++i) {
    const StatusRow& row = zone->rows[i];
    if (row.pid == 0) continue;
    status.counters->Fold(row.counters);
    if (owners.HasDied(row)) continue;
    WorkerStatus worker{row.pid, row.generation, row.worker, row.draining, {}};
    for (size_t gauge = 0; gauge < kCountOf<StatusGauge>; ++gauge) {
      worker.gauges[gauge] = row.Get(static_cast<StatusGauge>(gauge));
    }
    status.workers.push_back(worker);
  }
  return status;
}

}  // namespace agent_graph::nginx

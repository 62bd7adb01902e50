// The samples of the metrics of a database that hosts share. A service without such a database has
// none.
#pragma once

#include <vector>

#include "ngx_module/status/database_row.h"
#include "ngx_module/status/metrics.h"
#include "ngx_module/status/service_status.h"

namespace agent_graph::nginx {

// The only sample of one value; none if it is unknown.
std::vector<MetricSample> DatabaseSampleOf(const ServiceStatus& service, DatabaseValue value);

template <DatabaseValue value>
std::vector<MetricSample> DatabaseSample(const ServiceStatus& service) {
  return DatabaseSampleOf(service, value);
}

// By kind, and by state.
std::vector<MetricSample> DatabaseFailures(const ServiceStatus& service);
std::vector<MetricSample> DatabaseReaders(const ServiceStatus& service);
std::vector<MetricSample> DatabaseLinkMessages(const ServiceStatus& service);
std::vector<MetricSample> DatabaseBeatAge(const ServiceStatus& service);

}  // namespace agent_graph::nginx

// The histograms of the status page, in its formats.
#pragma once

#include <string>

#include "ngx_module/status/metrics.h"
#include "ngx_module/status/service_status.h"

namespace agent_graph::nginx {

// The lines `_bucket`, `_sum` and `_count` of each name. `service_label`: as MetricLabel writes it.
void AppendHistogramLines(std::string& out, const Metric& metric, const ServiceStatus& service,
                          const std::string& service_label);
// An object with `count` and `seconds`, by name if the metric has a label.
void AppendHistogramJson(std::string& out, const Metric& metric, const ServiceStatus& service);
// ` name=count/seconds` for each name.
void AppendHistogramText(std::string& out, const Metric& metric, const ServiceStatus& service);

// Microseconds as seconds, with six decimals.
std::string SecondsText(uint64_t micros);

}  // namespace agent_graph::nginx

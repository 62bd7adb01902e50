// The table of metrics that the status page shows, in the order of the page. A new metric is a row
// here and a value in status_rows.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ngx_module/status/service_status.h"

namespace agent_graph::nginx {

// One value of a metric.
struct MetricSample {
  std::string labels;  // as in the Prometheus format, without that of the service; may be empty
  std::string name;    // distinguishes it in the other formats; empty: the metric's only value
  uint64_t value = 0;
};

// A counter that is one sample of a metric.
struct LabelledCounter {
  std::string_view value;  // the value of the metric's label; empty: the metric has none
  StatusCounter counter;
};

struct Metric {
  enum class Type : uint8_t { kCounter, kGauge, kHistogram };
  enum class Unit : uint8_t { kNone, kMicros };  // kMicros: shown in seconds
  enum class Merge : uint8_t { kSum, kMax };     // how the gauges of workers become one

  std::string_view name;
  std::string_view help;
  Type type = Type::kCounter;
  Unit unit = Unit::kNone;

  // Exactly one of these gives the values.
  std::string_view label = {};  // the name of the label of `counters` or `durations`
  std::span<const LabelledCounter> counters = {};
  StatusGauge gauge = StatusGauge::kCount;
  Merge merge = Merge::kSum;
  DurationKind durations = DurationKind::kCount;  // a histogram; it has no samples
  // Optional instead of a null pointer: with -fsanitize=undefined, g++ does not compare the
  // addresses of functions at compile time, as the check of the table would.
  using Collect = std::vector<MetricSample> (*)(const ServiceStatus& service);
  std::optional<Collect> collect = {};
};

std::span<const Metric> Metrics();

std::vector<MetricSample> SamplesOf(const Metric& metric, const ServiceStatus& service);

// `name="text"`, escaped for the Prometheus format.
std::string MetricLabel(std::string_view name, std::string_view text);

}  // namespace agent_graph::nginx

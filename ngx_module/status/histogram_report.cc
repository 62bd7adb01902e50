#include "ngx_module/status/histogram_report.h"

#include <string_view>

#include "base/json.h"

namespace agent_graph::nginx {
namespace {

constexpr uint64_t kMicrosPerSecond = 1'000'000;
constexpr size_t kMicrosDigits = 6;

const std::vector<NamedCounts>& CountsOf(const Metric& metric, const ServiceStatus& service) {
  return service.durations[static_cast<size_t>(metric.durations)];
}

// Seconds without zeros at the end, as Prometheus shows bounds: "0.0005", "2.5", "10".
std::string BoundText(uint64_t micros) {
  std::string text = SecondsText(micros);
  text.resize(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string CountAndSeconds(const DurationCounts& counts) {
  return "{\"count\":" + std::to_string(counts.Total()) +
         ",\"seconds\":" + SecondsText(counts.micros) + '}';
}

}  // namespace

std::string SecondsText(uint64_t micros) {
  std::string decimals = std::to_string(micros % kMicrosPerSecond);
  decimals.insert(0, kMicrosDigits - decimals.size(), '0');
  return std::to_string(micros / kMicrosPerSecond) + '.' + decimals;
}

void AppendHistogramLines(std::string& out, const Metric& metric, const ServiceStatus& service,
                          const std::string& service_label) {
  const std::string name(metric.name);
  for (const auto& [label, counts] : CountsOf(metric, service)) {
    std::string labels = service_label;
    if (!metric.label.empty()) labels += ',' + MetricLabel(metric.label, label);
    uint64_t below = 0;
    for (size_t i = 0; i < kDurationBuckets; ++i) {
      below += counts.buckets[i];
      const std::string bound = i < kDurationBounds.size() ? BoundText(kDurationBounds[i]) : "+Inf";
      out.append(name).append("_bucket{").append(labels).append(",le=\"").append(bound);
      out.append("\"} ").append(std::to_string(below)).append("\n");
    }
    out.append(name).append("_sum{").append(labels).append("} ");
    out.append(SecondsText(counts.micros)).append("\n");
    out.append(name).append("_count{").append(labels).append("} ");
    out.append(std::to_string(below)).append("\n");
  }
}

void AppendHistogramJson(std::string& out, const Metric& metric, const ServiceStatus& service) {
  const std::vector<NamedCounts>& all = CountsOf(metric, service);
  if (metric.label.empty()) {
    out += CountAndSeconds(all.empty() ? DurationCounts() : all.front().counts);
    return;
  }
  out += '{';
  for (const NamedCounts& each : all) {
    if (&each != &all.front()) out += ',';
    AppendJsonString(out, each.name);
    out += ':' + CountAndSeconds(each.counts);
  }
  out += '}';
}

void AppendHistogramText(std::string& out, const Metric& metric, const ServiceStatus& service) {
  for (const auto& [name, counts] : CountsOf(metric, service)) {
    out += ' ' + name + (name.empty() ? "" : "=") + std::to_string(counts.Total()) + '/' +
           SecondsText(counts.micros);
  }
}

}  // namespace agent_graph::nginx

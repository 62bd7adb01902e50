#include "ngx_module/status/status_report.h"

#include <vector>

#include "base/json.h"
#include "ngx_module/status/histogram_report.h"
#include "ngx_module/status/metrics.h"
#include "ngx_module/status/service_status.h"

namespace agent_graph::nginx {
namespace {

std::string ValueOf(const Metric& metric, const MetricSample& sample) {
  return metric.unit == Metric::Unit::kMicros ? SecondsText(sample.value)
                                              : std::to_string(sample.value);
}

std::string_view TypeName(Metric::Type type) {
  switch (type) {
    case Metric::Type::kCounter:
      return "counter";
    case Metric::Type::kGauge:
      return "gauge";
    case Metric::Type::kHistogram:
      return "histogram";
  }
  return "untyped";
}

std::string WritePrometheus(const std::vector<ServiceStatus>& services) {
  std::string out;
  if (services.empty()) return out;
  for (const Metric& metric : Metrics()) {
    std::string lines;
    for (const ServiceStatus& service : services) {
      const std::string label = MetricLabel("service", service.name);
      if (metric.type == Metric::Type::kHistogram) {
        AppendHistogramLines(lines, metric, service, label);
        continue;
      }
      for (const MetricSample& sample : SamplesOf(metric, service)) {
        lines += std::string(metric.name) + '{' + label;
        if (!sample.labels.empty()) lines += ',' + sample.labels;
        lines += "} " + ValueOf(metric, sample) + '\n';
      }
    }
    if (lines.empty() && metric.type != Metric::Type::kHistogram) continue;
    out += "# HELP " + std::string(metric.name) + ' ' + std::string(metric.help) + '\n';
    out += "# TYPE " + std::string(metric.name) + ' ' + std::string(TypeName(metric.type)) + '\n';
    out += lines;
  }
  return out;
}

// The name of a metric in the text and JSON formats, without the common prefix and suffix.
std::string ShortName(const Metric& metric) {
  std::string_view name = metric.name;
  name.remove_prefix(std::string_view("agent_graph_").size());
  if (name.ends_with("_total")) name.remove_suffix(std::string_view("_total").size());
  return std::string(name);
}

std::string_view StateOf(const WorkerStatus& worker) {
  return worker.draining ? "draining" : "serving";
}

// A worker's own gauges are shown in their unit: microseconds, not seconds.
std::string GaugeName(const Metric& metric) {
  std::string name = ShortName(metric);
  const std::string_view seconds = "_seconds";
  if (metric.unit == Metric::Unit::kMicros && name.ends_with(seconds)) {
    name.replace(name.size() - seconds.size(), seconds.size(), "_microseconds");
  }
  return name;
}

void AppendWorkerJson(std::string& out, const WorkerStatus& worker) {
  out += "{\"pid\":" + std::to_string(worker.pid);
  out += ",\"worker\":" + std::to_string(worker.number);
  out += ",\"generation\":" + std::to_string(worker.generation);
  out += ",\"state\":\"" + std::string(StateOf(worker)) + '"';
  for (const Metric& metric : Metrics()) {
    if (metric.gauge == StatusGauge::kCount) continue;
    out += ",\"" + GaugeName(metric) + "\":" + std::to_string(worker.Get(metric.gauge));
  }
  out += '}';
}

void AppendMetricJson(std::string& out, const Metric& metric, const ServiceStatus& service) {
  AppendJsonString(out, ShortName(metric));
  out += ':';
  if (metric.type == Metric::Type::kHistogram) return AppendHistogramJson(out, metric, service);
  const std::vector<MetricSample> samples = SamplesOf(metric, service);
  if (samples.size() == 1 && samples[0].name.empty()) {
    out += ValueOf(metric, samples[0]);
    return;
  }
  out += '{';
  for (size_t i = 0; i < samples.size(); ++i) {
    if (i > 0) out += ',';
    AppendJsonString(out, samples[i].name);
    out += ':' + ValueOf(metric, samples[i]);
  }
  out += '}';
}

std::string WriteJson(const std::vector<ServiceStatus>& services) {
  std::string out = "{\"services\":[";
  for (const ServiceStatus& service : services) {
    if (&service != &services.front()) out += ',';
    out += "{\"name\":";
    AppendJsonString(out, service.name);
    for (const Metric& metric : Metrics()) {
      out += ',';
      AppendMetricJson(out, metric, service);
    }
    out += ",\"rows\":[";
    for (size_t i = 0; i < service.workers.size(); ++i) {
      if (i > 0) out += ',';
      AppendWorkerJson(out, service.workers[i]);
    }
    out += "]}";
  }
  out += "]}\n";
  return out;
}

std::string WriteText(const std::vector<ServiceStatus>& services) {
  std::string out;
  for (const ServiceStatus& service : services) {
    out += "service " + service.name + '\n';
    for (const Metric& metric : Metrics()) {
      out += "  " + ShortName(metric) + ':';
      if (metric.type == Metric::Type::kHistogram) AppendHistogramText(out, metric, service);
      for (const MetricSample& sample : SamplesOf(metric, service)) {
        if (!sample.name.empty() && sample.value == 0) continue;
        out += ' ' + sample.name + (sample.name.empty() ? "" : "=") + ValueOf(metric, sample);
      }
      out += '\n';
    }
    for (const WorkerStatus& worker : service.workers) {
      out += "  worker " + std::to_string(worker.number) + ": pid=" + std::to_string(worker.pid) +
             " generation=" + std::to_string(worker.generation) + ' ' +
             std::string(StateOf(worker)) +
             " in_flight=" + std::to_string(worker.Get(StatusGauge::kInFlight)) + '\n';
    }
  }
  return out;
}

}  // namespace

std::string WriteStatus(const ServiceList& services, StatusFormat format) {
  std::vector<ServiceStatus> read;
  for (const auto& service : services) {
    if (service->used) read.push_back(ReadStatus(*service));
  }
  switch (format) {
    case StatusFormat::kPrometheus:
      return WritePrometheus(read);
    case StatusFormat::kJson:
      return WriteJson(read);
    case StatusFormat::kText:
      break;
  }
  return WriteText(read);
}

}  // namespace agent_graph::nginx

#include "ngx_module/status/status_report.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/json.h"
#include "base/version.h"
#include "ngx_module/status/service_zone.h"
#include "ngx_module/status/status_rows.h"

namespace agent_graph::nginx {
namespace {

// One value, with labels that distinguish it from the others of its family.
struct Sample {
  std::string labels;  // such as `route="graph",outcome="ok"`; may be empty
  std::string json_name;
  uint64_t value = 0;
};

constexpr uint64_t kMicrosPerSecond = 1'000'000;
constexpr size_t kMicrosDigits = 6;

struct Family {
  std::string_view name;
  std::string_view help;
  bool counter = true;
  bool seconds = false;  // samples are in microseconds, shown in seconds
  std::vector<Sample> samples = {};
};

struct Worker {
  int64_t pid;
  uint64_t generation;
  uint32_t number;
  bool draining;
  uint64_t gauges[kCountOf<StatusGauge>];
};

struct ServiceStatus {
  std::string name;
  std::unique_ptr<StatusCounters> counters = std::make_unique<StatusCounters>();
  std::vector<Worker> workers;

  uint64_t Sum(StatusGauge gauge) const {
    uint64_t sum = 0;
    for (const Worker& worker : workers) sum += worker.gauges[static_cast<size_t>(gauge)];
    return sum;
  }
  uint64_t Max(StatusGauge gauge) const {
    uint64_t max = 0;
    for (const Worker& worker : workers) {
      max = std::max(max, worker.gauges[static_cast<size_t>(gauge)]);
    }
    return max;
  }
};

ServiceStatus ReadStatus(const ServiceConfig& service) {
  ServiceStatus status;
  status.name = service.name;
  ServiceZone* zone = FindZone(service);
  if (zone == nullptr) return status;
  // Rows move to the retired counters under this lock, so that nothing is missed or counted twice.
  ZoneLock lock(service);
  status.counters->Fold(zone->retired);
  for (uint32_t i = 0; i < zone->row_count; ++i) {
    const StatusRow& row = zone->rows[i];
    if (row.pid == 0) continue;
    status.counters->Fold(row.counters);
    if (!IsAlive(row)) continue;
    Worker worker{row.pid, row.generation, row.worker, row.draining, {}};
    for (size_t gauge = 0; gauge < kCountOf<StatusGauge>; ++gauge) {
      worker.gauges[gauge] = row.Get(static_cast<StatusGauge>(gauge));
    }
    status.workers.push_back(worker);
  }
  return status;
}

std::string Label(std::string_view name, std::string_view value) {
  return std::string(name) + "=\"" + std::string(value) + '"';
}

template <typename Enum>
void AddNamed(Family& family, const std::string& labels, std::string_view label,
              const StatusCounters::Cell (&cells)[kCountOf<Enum>]) {
  for (size_t i = 0; i < kCountOf<Enum>; ++i) {
    std::string_view name = NameOf(static_cast<Enum>(i));
    family.samples.push_back({labels + ',' + Label(label, name), std::string(name),
                              cells[i].load(std::memory_order_relaxed)});
  }
}

void AddRequests(Family& family, const std::string& labels, const StatusCounters& counters) {
  for (size_t route = 0; route < kCountOf<RouteClass>; ++route) {
    std::string_view route_name = NameOf(static_cast<RouteClass>(route));
    for (size_t outcome = 0; outcome < kCountOf<Outcome>; ++outcome) {
      uint64_t value = counters.requests[route][outcome].load(std::memory_order_relaxed);
      // Most combinations never occur.
      if (value == 0) continue;
      std::string_view outcome_name = NameOf(static_cast<Outcome>(outcome));
      family.samples.push_back(
          {labels + ',' + Label("route", route_name) + ',' + Label("outcome", outcome_name),
           std::string(route_name) + '.' + std::string(outcome_name), value});
    }
  }
}

std::string EscapeLabel(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

// All families, in the order of the page.
std::vector<Family> Describe(const std::vector<ServiceStatus>& services) {
  std::vector<Family> families = {
      {"agent_graph_requests_total", "Completed requests, by kind of route and outcome."},
      {"agent_graph_runs_total", "Completed runs of the graph, by outcome."},
      {"agent_graph_refusals_total", "Refused requests, by reason."},
      {"agent_graph_rate_limit_decisions_total", "Decisions of the rate limit, by result."},
      {"agent_graph_rate_limit_evictions_total", "Callers evicted from the full rate limit table."},
      {"agent_graph_credit_stalls_total", "Times a producer waited for a slow client."},
      {"agent_graph_doorbells_total", "Wake-ups of event loops by engine threads."},
      {"agent_graph_model_calls_total", "Completed model calls, by outcome."},
      {"agent_graph_model_seconds_total", "Total duration of model calls.", true, true},
      {"agent_graph_model_tokens_total", "Tokens reported by models, by kind."},
      {"agent_graph_state_operations_total", "Operations answered by the state server."},
      {"agent_graph_state_seconds_total", "Total duration of state operations.", true, true},
      {"agent_graph_live_session_decisions_total", "Requests for live sessions, by result."},
      {"agent_graph_live_reconnects_total", "New connections of live sessions to their provider."},
      {"agent_graph_live_frames_forwarded_total",
       "Frames forwarded between clients and live models, by direction."},
      {"agent_graph_live_forward_seconds_total",
       "Total time of forwarded frames in the service, by direction.", true, true},
      {"agent_graph_live_drops_total",
       "Frames of live sessions dropped by a full queue, by direction."},
      {"agent_graph_workers", "Worker processes, by state.", false},
      {"agent_graph_requests_in_flight", "Requests that the engine has not completed.", false},
      {"agent_graph_queue_waiting", "Requests that wait for the engine.", false},
      {"agent_graph_queue_running", "Requests that the engine processes.", false},
      {"agent_graph_outbox_items", "Outbox items that event loops have not taken yet.", false},
      {"agent_graph_buffered_bytes",
       "Request bodies in use, WebSocket messages and unsent replies.", false},
      {"agent_graph_memory_bytes", "Estimated memory of requests.", false},
      {"agent_graph_memory_waiting", "Requests that wait for memory.", false},
      {"agent_graph_websockets", "Open WebSocket connections.", false},
      {"agent_graph_live_sessions", "Open live sessions.", false},
      {"agent_graph_event_loop_delay_seconds",
       "Longest delay of an event loop in the last 30 to 60 seconds.", false, true},
      {"agent_graph_build_info", "The version of the module; always 1.", false},
  };
  for (const ServiceStatus& service : services) {
    const StatusCounters& counters = *service.counters;
    const std::string label = Label("service", EscapeLabel(service.name));
    size_t next = 0;
    auto named = [&](const char* name, const char* value, StatusCounter counter) {
      families[next].samples.push_back(
          {label + ',' + Label(name, value), value, counters.Get(counter)});
    };
    auto plain = [&](uint64_t value) { families[next++].samples.push_back({label, "", value}); };
    AddRequests(families[next++], label, counters);
    AddNamed<Outcome>(families[next++], label, "outcome", counters.runs);
    AddNamed<Refusal>(families[next++], label, "reason", counters.refusals);
    named("decision", "admitted", StatusCounter::kRateAdmitted);
    named("decision", "refused", StatusCounter::kRateRefused);
    named("decision", "unchecked", StatusCounter::kRateUnchecked);
    ++next;
    plain(counters.Get(StatusCounter::kRateEvicted));
    plain(counters.Get(StatusCounter::kCreditStalls));
    plain(counters.Get(StatusCounter::kDoorbells));
    named("outcome", "ok", StatusCounter::kModelReplies);
    named("outcome", "error", StatusCounter::kModelFailures);
    ++next;
    plain(counters.Get(StatusCounter::kModelMicros));
    named("kind", "input", StatusCounter::kModelInputTokens);
    named("kind", "output", StatusCounter::kModelOutputTokens);
    ++next;
    plain(counters.Get(StatusCounter::kStateAnswers));
    plain(counters.Get(StatusCounter::kStateMicros));
    named("decision", "opened", StatusCounter::kLiveSessions);
    named("decision", "refused", StatusCounter::kLiveRefused);
    ++next;
    plain(counters.Get(StatusCounter::kLiveReconnects));
    named("way", "upstream", StatusCounter::kLiveFramesForwarded);
    named("way", "downstream", StatusCounter::kLiveSoundForwarded);
    ++next;
    named("way", "upstream", StatusCounter::kLiveForwardMicros);
    named("way", "downstream", StatusCounter::kLiveSoundMicros);
    ++next;
    named("way", "upstream", StatusCounter::kLiveFramesDropped);
    named("way", "downstream", StatusCounter::kLiveSoundDropped);
    ++next;
    uint64_t draining = std::ranges::count(service.workers, true, &Worker::draining);
    families[next].samples.push_back(
        {label + ',' + Label("state", "serving"), "serving", service.workers.size() - draining});
    families[next++].samples.push_back(
        {label + ',' + Label("state", "draining"), "draining", draining});
    for (StatusGauge gauge :
         {StatusGauge::kInFlight, StatusGauge::kQueueWaiting, StatusGauge::kQueueRunning,
          StatusGauge::kOutboxItems, StatusGauge::kBufferedBytes, StatusGauge::kMemoryBytes,
          StatusGauge::kMemoryWaiting, StatusGauge::kSockets, StatusGauge::kLiveOpen}) {
      plain(service.Sum(gauge));
    }
    plain(service.Max(StatusGauge::kLoopDelayMicros));
    families[next].samples.push_back({label + ',' + Label("version", kVersion), kVersion, 1});
  }
  return families;
}

std::string ValueOf(const Family& family, const Sample& sample) {
  if (!family.seconds) return std::to_string(sample.value);
  std::string micros = std::to_string(sample.value % kMicrosPerSecond);
  return std::to_string(sample.value / kMicrosPerSecond) + '.' +
         std::string(kMicrosDigits - micros.size(), '0') + micros;
}

std::string WritePrometheus(const std::vector<ServiceStatus>& services) {
  std::string out;
  for (const Family& family : Describe(services)) {
    if (family.samples.empty()) continue;
    std::string name(family.name);
    out += "# HELP " + name + ' ' + std::string(family.help) + '\n';
    out += "# TYPE " + name + (family.counter ? " counter\n" : " gauge\n");
    for (const Sample& sample : family.samples) {
      out += name + '{' + sample.labels + "} " + ValueOf(family, sample) + '\n';
    }
  }
  return out;
}

// The name of a metric in the text and JSON formats, without the common prefix and suffix.
std::string ShortName(std::string_view name) {
  name.remove_prefix(std::string_view("agent_graph_").size());
  if (name.ends_with("_total")) name.remove_suffix(std::string_view("_total").size());
  return std::string(name);
}

std::string_view StateOf(const Worker& worker) {
  return worker.draining ? "draining" : "serving";
}

void AppendWorkerJson(std::string& out, const Worker& worker) {
  auto gauge = [&](StatusGauge which) {
    return std::to_string(worker.gauges[static_cast<size_t>(which)]);
  };
  out += "{\"pid\":" + std::to_string(worker.pid);
  out += ",\"worker\":" + std::to_string(worker.number);
  out += ",\"generation\":" + std::to_string(worker.generation);
  out += ",\"state\":\"" + std::string(StateOf(worker)) + '"';
  out += ",\"requests_in_flight\":" + gauge(StatusGauge::kInFlight);
  out += ",\"queue_waiting\":" + gauge(StatusGauge::kQueueWaiting);
  out += ",\"queue_running\":" + gauge(StatusGauge::kQueueRunning);
  out += ",\"outbox_items\":" + gauge(StatusGauge::kOutboxItems);
  out += ",\"buffered_bytes\":" + gauge(StatusGauge::kBufferedBytes);
  out += ",\"memory_bytes\":" + gauge(StatusGauge::kMemoryBytes);
  out += ",\"memory_waiting\":" + gauge(StatusGauge::kMemoryWaiting);
  out += ",\"websockets\":" + gauge(StatusGauge::kSockets);
  out += ",\"live_sessions\":" + gauge(StatusGauge::kLiveOpen);
  out += ",\"event_loop_delay_microseconds\":" + gauge(StatusGauge::kLoopDelayMicros) + '}';
}

void AppendFamilyJson(std::string& out, const Family& family) {
  AppendJsonString(out, ShortName(family.name));
  out += ':';
  if (family.samples.size() == 1 && family.samples[0].json_name.empty()) {
    out += ValueOf(family, family.samples[0]);
    return;
  }
  out += '{';
  for (size_t i = 0; i < family.samples.size(); ++i) {
    if (i > 0) out += ',';
    AppendJsonString(out, family.samples[i].json_name);
    out += ':' + ValueOf(family, family.samples[i]);
  }
  out += '}';
}

std::string WriteJson(std::vector<ServiceStatus> services) {
  std::string out = "{\"services\":[";
  for (size_t i = 0; i < services.size(); ++i) {
    if (i > 0) out += ',';
    std::vector<Worker> workers = services[i].workers;
    out += "{\"name\":";
    AppendJsonString(out, services[i].name);
    std::vector<ServiceStatus> one;
    one.push_back(std::move(services[i]));
    for (const Family& family : Describe(one)) {
      out += ',';
      AppendFamilyJson(out, family);
    }
    out += ",\"rows\":[";
    for (size_t j = 0; j < workers.size(); ++j) {
      if (j > 0) out += ',';
      AppendWorkerJson(out, workers[j]);
    }
    out += "]}";
  }
  out += "]}\n";
  return out;
}

std::string WriteText(std::vector<ServiceStatus> services) {
  std::string out;
  for (ServiceStatus& service : services) {
    out += "service " + service.name + '\n';
    std::vector<Worker> workers = service.workers;
    std::vector<ServiceStatus> one;
    one.push_back(std::move(service));
    for (const Family& family : Describe(one)) {
      out += "  " + ShortName(family.name) + ':';
      for (const Sample& sample : family.samples) {
        if (!sample.json_name.empty() && sample.value == 0) continue;
        out += ' ' + sample.json_name + (sample.json_name.empty() ? "" : "=") +
               ValueOf(family, sample);
      }
      out += '\n';
    }
    for (const Worker& worker : workers) {
      out += "  worker " + std::to_string(worker.number) + ": pid=" + std::to_string(worker.pid) +
             " generation=" + std::to_string(worker.generation) + ' ' +
             std::string(StateOf(worker)) + " in_flight=" +
             std::to_string(worker.gauges[static_cast<size_t>(StatusGauge::kInFlight)]) + '\n';
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
      return WriteJson(std::move(read));
    case StatusFormat::kText:
      break;
  }
  return WriteText(std::move(read));
}

}  // namespace agent_graph::nginx

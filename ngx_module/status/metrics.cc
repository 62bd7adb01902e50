#include "ngx_module/status/metrics.h"

#include <algorithm>

#include "base/version.h"
#include "ngx_module/status/database_samples.h"

namespace agent_graph::nginx {
namespace {

using Samples = std::vector<MetricSample>;

template <typename Enum>
Samples ByName(std::string_view label, const StatusCounters::Cell (&cells)[kCountOf<Enum>]) {
  Samples samples;
  for (size_t i = 0; i < kCountOf<Enum>; ++i) {
    const std::string_view name = NameOf(static_cast<Enum>(i));
    samples.push_back(
        {MetricLabel(label, name), std::string(name), cells[i].load(std::memory_order_relaxed)});
  }
  return samples;
}

Samples Requests(const ServiceStatus& service) {
  Samples samples;
  for (size_t route = 0; route < kCountOf<RouteClass>; ++route) {
    const std::string_view route_name = NameOf(static_cast<RouteClass>(route));
    for (size_t outcome = 0; outcome < kCountOf<Outcome>; ++outcome) {
      const uint64_t value =
          service.counters->requests[route][outcome].load(std::memory_order_relaxed);
      if (value == 0) continue;  // most combinations never occur
      const std::string_view outcome_name = NameOf(static_cast<Outcome>(outcome));
      samples.push_back(
          {MetricLabel("route", route_name) + ',' + MetricLabel("outcome", outcome_name),
           std::string(route_name) + '.' + std::string(outcome_name), value});
    }
  }
  return samples;
}

Samples Runs(const ServiceStatus& service) {
  return ByName<Outcome>("outcome", service.counters->runs);
}

Samples Refusals(const ServiceStatus& service) {
  return ByName<Refusal>("reason", service.counters->refusals);
}

Samples Workers(const ServiceStatus& service) {
  const auto draining =
      static_cast<uint64_t>(std::ranges::count(service.workers, true, &WorkerStatus::draining));
  return {{MetricLabel("state", "serving"), "serving", service.workers.size() - draining},
          {MetricLabel("state", "draining"), "draining", draining}};
}

Samples BuildInfo(const ServiceStatus&) {
  return {
      {MetricLabel("version", kVersion) + ',' + MetricLabel("nginx", NGINX_VERSION), kVersion, 1}};
}

constexpr LabelledCounter kRateDecisions[] = {{"admitted", StatusCounter::kRateAdmitted},
                                              {"refused", StatusCounter::kRateRefused},
                                              {"unchecked", StatusCounter::kRateUnchecked}};
constexpr LabelledCounter kRateEvictions[] = {{"", StatusCounter::kRateEvicted}};
constexpr LabelledCounter kCreditStalls[] = {{"", StatusCounter::kCreditStalls}};
constexpr LabelledCounter kDoorbells[] = {{"", StatusCounter::kDoorbells}};
constexpr LabelledCounter kModelCalls[] = {{"ok", StatusCounter::kModelReplies},
                                           {"error", StatusCounter::kModelFailures}};
constexpr LabelledCounter kModelTime[] = {{"", StatusCounter::kModelMicros}};
constexpr LabelledCounter kModelTokens[] = {{"input", StatusCounter::kModelInputTokens},
                                            {"output", StatusCounter::kModelOutputTokens}};
constexpr LabelledCounter kStateOperations[] = {{"", StatusCounter::kStateAnswers}};
constexpr LabelledCounter kStateTime[] = {{"", StatusCounter::kStateMicros}};
constexpr LabelledCounter kUnknownEffects[] = {{"", StatusCounter::kUnknownEffects}};
constexpr LabelledCounter kLiveDecisions[] = {{"opened", StatusCounter::kLiveSessions},
                                              {"refused", StatusCounter::kLiveRefused}};
constexpr LabelledCounter kLiveReconnects[] = {{"", StatusCounter::kLiveReconnects}};
constexpr LabelledCounter kLiveFrames[] = {{"upstream", StatusCounter::kLiveFramesForwarded},
                                           {"downstream", StatusCounter::kLiveAudioForwarded}};
constexpr LabelledCounter kLiveTime[] = {{"upstream", StatusCounter::kLiveForwardMicros},
                                         {"downstream", StatusCounter::kLiveAudioMicros}};
constexpr LabelledCounter kLiveDrops[] = {{"upstream", StatusCounter::kLiveFramesDropped},
                                          {"downstream", StatusCounter::kLiveAudioDropped}};

constexpr auto kGauge = Metric::Type::kGauge;
constexpr auto kHistogram = Metric::Type::kHistogram;
constexpr auto kCounter = Metric::Type::kCounter;
constexpr auto kMicros = Metric::Unit::kMicros;

constexpr Metric kMetrics[] = {
    {.name = "agent_graph_requests_total",
     .help = "Completed requests, by kind of route and outcome.",
     .collect = Requests},
    {.name = "agent_graph_runs_total",
     .help = "Completed runs of the graph, by outcome.",
     .collect = Runs},
    {.name = "agent_graph_refusals_total",
     .help = "Refused requests, by reason.",
     .collect = Refusals},
    {.name = "agent_graph_rate_limit_decisions_total",
     .help = "Decisions of the rate limit, by result.",
     .label = "decision",
     .counters = kRateDecisions},
    {.name = "agent_graph_rate_limit_evictions_total",
     .help = "Callers evicted from the full rate limit table.",
     .counters = kRateEvictions},
    {.name = "agent_graph_credit_stalls_total",
     .help = "Times a producer waited for a slow client.",
     .counters = kCreditStalls},
    {.name = "agent_graph_doorbells_total",
     .help = "Wake-ups of event loops by engine threads.",
     .counters = kDoorbells},
    {.name = "agent_graph_model_calls_total",
     .help = "Completed model calls, by outcome.",
     .label = "outcome",
     .counters = kModelCalls},
    {.name = "agent_graph_model_seconds_total",
     .help = "Total duration of model calls.",
     .unit = kMicros,
     .counters = kModelTime},
    {.name = "agent_graph_model_tokens_total",
     .help = "Tokens reported by models, by kind.",
     .label = "kind",
     .counters = kModelTokens},
    {.name = "agent_graph_state_operations_total",
     .help = "Operations answered by the state server.",
     .counters = kStateOperations},
    {.name = "agent_graph_state_seconds_total",
     .help = "Total duration of state operations.",
     .unit = kMicros,
     .counters = kStateTime},
    {.name = "agent_graph_runs_continued_total",
     .help = "Attempts of accepted runs after the first one.",
     .gauge = StatusGauge::kRunsContinued,
     .merge = Metric::Merge::kMax},
    {.name = "agent_graph_runs_poisoned_total",
     .help = "Accepted runs that ended because their user code crashed workers.",
     .gauge = StatusGauge::kRunsPoisoned,
     .merge = Metric::Merge::kMax},
    {.name = "agent_graph_unknown_effects_total",
     .help = "Tool calls whose effect is unknown because their worker died.",
     .counters = kUnknownEffects},
    {.name = "agent_graph_live_session_decisions_total",
     .help = "Requests for live sessions, by result.",
     .label = "decision",
     .counters = kLiveDecisions},
    {.name = "agent_graph_live_reconnects_total",
     .help = "New connections of live sessions to their provider.",
     .counters = kLiveReconnects},
    {.name = "agent_graph_live_frames_forwarded_total",
     .help = "Frames forwarded between clients and live models, by direction.",
     .label = "way",
     .counters = kLiveFrames},
    {.name = "agent_graph_live_forward_seconds_total",
     .help = "Total time of forwarded frames in the service, by direction.",
     .unit = kMicros,
     .label = "way",
     .counters = kLiveTime},
    {.name = "agent_graph_live_drops_total",
     .help = "Frames of live sessions dropped by a full queue, by direction.",
     .label = "way",
     .counters = kLiveDrops},
    {.name = "agent_graph_request_duration_seconds",
     .help = "Duration of HTTP requests from their head to the end of the reply, by kind of route.",
     .type = kHistogram,
     .label = "route",
     .durations = DurationKind::kRequest},
    {.name = "agent_graph_first_chunk_seconds",
     .help = "Time from the head of a request to the first chunk of its stream, by kind of route.",
     .type = kHistogram,
     .label = "route",
     .durations = DurationKind::kFirstChunk},
    {.name = "agent_graph_model_call_duration_seconds",
     .help = "Duration of model calls with their retries, by the model's name in service.json.",
     .type = kHistogram,
     .label = "model",
     .durations = DurationKind::kModelCall},
    {.name = "agent_graph_tool_call_duration_seconds",
     .help = "Duration of tool calls, by tool.",
     .type = kHistogram,
     .label = "tool",
     .durations = DurationKind::kToolCall},
    {.name = "agent_graph_state_operation_duration_seconds",
     .help = "Duration of state operations, without waits for a busy thread.",
     .type = kHistogram,
     .durations = DurationKind::kStateOperation},
    {.name = "agent_graph_database_commit_duration_seconds",
     .help = "Duration of commits of the shared database, each with the writes of a batch.",
     .type = kHistogram,
     .durations = DurationKind::kDatabaseCommit},
    {.name = "agent_graph_database_round_trips_total",
     .help = "Answered round trips to the shared database.",
     .collect = DatabaseSample<DatabaseValue::kRoundTrips>},
    {.name = "agent_graph_database_sessions_total",
     .help = "Sessions opened with the shared database.",
     .collect = DatabaseSample<DatabaseValue::kSessions>},
    {.name = "agent_graph_database_failures_total",
     .help = "Failed connections, lost sessions and time-outs of the shared database, by kind.",
     .collect = DatabaseFailures},
    {.name = "agent_graph_database_retries_total",
     .help = "Transactions repeated after serialization failures and deadlocks.",
     .collect = DatabaseSample<DatabaseValue::kRetries>},
    {.name = "agent_graph_database_takeovers_total",
     .help = "Hosts that this host has declared dead.",
     .collect = DatabaseSample<DatabaseValue::kTakeovers>},
    {.name = "agent_graph_database_acked_lost_total",
     .help = "Runs ended because the shared database has lost entries that it had acknowledged.",
     .collect = DatabaseSample<DatabaseValue::kAckedLost>},
    {.name = "agent_graph_database_fenced_total",
     .help = "Batches refused because this host had been declared dead.",
     .collect = DatabaseSample<DatabaseValue::kFenced>},
    {.name = "agent_graph_database_link_messages_total",
     .help = "Messages between this host and others about runs that are read elsewhere, by kind.",
     .collect = DatabaseLinkMessages},
    {.name = "agent_graph_database_readers",
     .help = "Reading connections in use, and reads that wait for one.",
     .type = kGauge,
     .collect = DatabaseReaders},
    {.name = "agent_graph_database_beat_age_seconds",
     .help = "Time since this host's last beat in the shared database.",
     .type = kGauge,
     .unit = kMicros,
     .collect = DatabaseBeatAge},
    {.name = "agent_graph_database_standbys",
     .help = "Standbys connected to the shared database.",
     .type = kGauge,
     .collect = DatabaseSample<DatabaseValue::kStandbys>},
    {.name = "agent_graph_database_standby_lag_seconds",
     .help = "Replay lag of the slowest standby, if the role may read it.",
     .type = kGauge,
     .unit = kMicros,
     .collect = DatabaseSample<DatabaseValue::kStandbyLagMicros>},
    {.name = "agent_graph_database_dead_rows",
     .help = "Dead rows of the table of leases, which vacuum has not removed yet.",
     .type = kGauge,
     .collect = DatabaseSample<DatabaseValue::kDeadRows>},
    {.name = "agent_graph_up",
     .help = "1 if a worker runs the service.",
     .type = kGauge,
     .gauge = StatusGauge::kUp,
     .merge = Metric::Merge::kMax},
    {.name = "agent_graph_workers",
     .help = "Worker processes, by state.",
     .type = kGauge,
     .collect = Workers},
    {.name = "agent_graph_requests_in_flight",
     .help = "Requests that the engine has not completed.",
     .type = kGauge,
     .gauge = StatusGauge::kInFlight},
    {.name = "agent_graph_queue_waiting",
     .help = "Requests that wait for the engine.",
     .type = kGauge,
     .gauge = StatusGauge::kQueueWaiting},
    {.name = "agent_graph_queue_running",
     .help = "Requests that the engine processes.",
     .type = kGauge,
     .gauge = StatusGauge::kQueueRunning},
    {.name = "agent_graph_outbox_items",
     .help = "Outbox items that event loops have not taken yet.",
     .type = kGauge,
     .gauge = StatusGauge::kOutboxItems},
    {.name = "agent_graph_buffered_bytes",
     .help = "Request bodies in use, WebSocket messages and unsent replies.",
     .type = kGauge,
     .gauge = StatusGauge::kBufferedBytes},
    {.name = "agent_graph_memory_bytes",
     .help = "Estimated memory of requests.",
     .type = kGauge,
     .gauge = StatusGauge::kMemoryBytes},
    {.name = "agent_graph_memory_waiting",
     .help = "Requests that wait for memory.",
     .type = kGauge,
     .gauge = StatusGauge::kMemoryWaiting},
    {.name = "agent_graph_websockets",
     .help = "Open WebSocket connections.",
     .type = kGauge,
     .gauge = StatusGauge::kSockets},
    {.name = "agent_graph_live_sessions",
     .help = "Open live sessions.",
     .type = kGauge,
     .gauge = StatusGauge::kLiveOpen},
    {.name = "agent_graph_followers",
     .help = "Requests that follow a run.",
     .type = kGauge,
     .gauge = StatusGauge::kFollowers},
    {.name = "agent_graph_oldest_queued_run_seconds",
     .help = "Longest time that an accepted run has been waiting for its thread or a worker.",
     .type = kGauge,
     .unit = kMicros,
     .gauge = StatusGauge::kRunWaitMicros,
     .merge = Metric::Merge::kMax},
    {.name = "agent_graph_event_loop_delay_seconds",
     .help = "Longest delay of an event loop in the last 30 to 60 seconds.",
     .type = kGauge,
     .unit = kMicros,
     .gauge = StatusGauge::kLoopDelayMicros,
     .merge = Metric::Merge::kMax},
    {.name = "agent_graph_build_info",
     .help = "The versions of the module and of nginx; always 1.",
     .type = kGauge,
     .collect = BuildInfo},
};

constexpr bool IsComplete(const Metric& metric) {
  const int sources = (metric.collect.has_value() ? 1 : 0) + (metric.counters.empty() ? 0 : 1) +
                      (metric.gauge == StatusGauge::kCount ? 0 : 1) +
                      (metric.durations == DurationKind::kCount ? 0 : 1);
  if ((metric.type == kHistogram) != (metric.durations != DurationKind::kCount)) return false;
  const bool counts = metric.name.ends_with("_total");
  return sources == 1 && counts == (metric.type == kCounter) && metric.help.ends_with('.');
}

constexpr bool ShowsEach(StatusCounter counter) {
  return std::ranges::any_of(kMetrics, [&](const Metric& metric) {
    return std::ranges::any_of(
        metric.counters, [&](const LabelledCounter& each) { return each.counter == counter; });
  });
}

constexpr bool ShowsAll() {
  for (size_t i = 0; i < kCountOf<StatusCounter>; ++i) {
    if (!ShowsEach(static_cast<StatusCounter>(i))) return false;
  }
  for (size_t i = 0; i < kCountOf<StatusGauge>; ++i) {
    if (std::ranges::count(kMetrics, static_cast<StatusGauge>(i), &Metric::gauge) != 1)
      return false;
  }
  for (size_t i = 0; i < kCountOf<DurationKind>; ++i) {
    if (std::ranges::count(kMetrics, static_cast<DurationKind>(i), &Metric::durations) != 1)
      return false;
  }
  return true;
}

static_assert(std::ranges::all_of(kMetrics, IsComplete));
static_assert(ShowsAll(), "a counter, gauge or histogram has no row in kMetrics");

}  // namespace

std::span<const Metric> Metrics() {
  return kMetrics;
}

std::vector<MetricSample> SamplesOf(const Metric& metric, const ServiceStatus& service) {
  if (metric.collect) return (*metric.collect)(service);
  if (metric.gauge != StatusGauge::kCount) {
    return {{"", "",
             metric.merge == Metric::Merge::kSum ? service.Sum(metric.gauge)
                                                 : service.Max(metric.gauge)}};
  }
  Samples samples;
  for (const LabelledCounter& each : metric.counters) {
    samples.push_back({each.value.empty() ? "" : MetricLabel(metric.label, each.value),
                       std::string(each.value), service.counters->Get(each.counter)});
  }
  return samples;
}

std::string MetricLabel(std::string_view name, std::string_view text) {
  std::string label = std::string(name) + "=\"";
  for (char c : text) {
    if (c == '\\' || c == '"') label += '\\';
    label += c == '\n' ? ' ' : c;
  }
  return label + '"';
}

}  // namespace agent_graph::nginx

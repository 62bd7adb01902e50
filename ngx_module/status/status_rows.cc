#include "ngx_module/status/status_rows.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ngx_module/callback.h"
#include "ngx_module/status/service_zone.h"

namespace agent_graph::nginx {
namespace {

// In the order of the enums.
constexpr std::string_view kRouteNames[] = {"ping",  "ready", "graph",         "threads", "store",
                                            "files", "evals", "observability", "docs",    "openai",
                                            "agui",  "mcp",   "other"};
constexpr std::string_view kOutcomeNames[] = {"ok",           "error",   "rejected", "cancelled",
                                              "client_abort", "timeout", "shutdown"};
constexpr std::string_view kRefusalNames[] = {"invalid",      "forbidden",  "not_found",
                                              "method",       "busy",       "too_large",
                                              "rate_limited", "overloaded", "other"};
static_assert(std::size(kRouteNames) == kCountOf<RouteClass>);
static_assert(std::size(kOutcomeNames) == kCountOf<Outcome>);
static_assert(std::size(kRefusalNames) == kCountOf<Refusal>);

struct OwnRow {
  StatusRow* row = nullptr;
  time_t tried = 0;  // time of the last attempt to claim a row
};

// One entry per service of this process, by the service's index.
std::vector<OwnRow>& OwnRows() {
  static std::vector<OwnRow> rows;
  return rows;
}

// Start time of the process, field 22 of /proc/PID/stat; 0 if it cannot be read, for example
// because no descriptor is free.
uint64_t StartOf(int64_t pid) {
  char path[40];
  snprintf(path, sizeof(path), "/proc/%lld/stat", static_cast<long long>(pid));
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[1024];
  ssize_t size = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (size <= 0) return 0;
  text[size] = '\0';
  // The process name, in parentheses, may contain spaces.
  const char* field = strrchr(text, ')');
  constexpr int kFieldsBehindName = 20;
  for (int i = 0; field != nullptr && i < kFieldsBehindName; ++i) field = strchr(field + 1, ' ');
  return field == nullptr ? 0 : strtoull(field, nullptr, 10);
}

Outcome OutcomeOf(std::string_view name) {
  for (size_t i = 0; i < std::size(kOutcomeNames); ++i) {
    if (kOutcomeNames[i] == name) return static_cast<Outcome>(i);
  }
  // nginx ended the request before an outcome was set.
  return Outcome::kClientAbort;
}

Refusal RefusalOf(ngx_uint_t status) {
  switch (status) {
    case 400:
    case 422:
      return Refusal::kInvalid;
    case 401:
    case 403:
      return Refusal::kForbidden;
    case 404:
      return Refusal::kNotFound;
    case 405:
      return Refusal::kMethod;
    case 409:
      return Refusal::kBusy;
    case 413:
      return Refusal::kTooLarge;
    case 429:
      return Refusal::kRateLimited;
    case 503:
      return Refusal::kOverloaded;
    default:
      return Refusal::kOther;
  }
}

template <typename Visit>
void ForEachCell(StatusCounters& counters, Visit&& visit) {
  for (auto& row : counters.requests) {
    for (auto& cell : row) visit(cell);
  }
  for (auto& cell : counters.runs) visit(cell);
  for (auto& cell : counters.refusals) visit(cell);
  for (auto& cell : counters.plain) visit(cell);
}

// Adds the counters of an ended process to the retired counters and frees its row.
void Retire(ServiceZone& zone, StatusRow& row) {
  zone.retired.Fold(row.counters);
  row.counters.Clear();
  for (auto& gauge : row.gauges) gauge = 0;
  row.draining = false;
  row.pid = 0;
}

void RetireDead(ServiceZone& zone) {
  for (uint32_t i = 0; i < zone.row_count; ++i) {
    StatusRow& row = zone.rows[i];
    if (row.pid != 0 && !IsAlive(row)) Retire(zone, row);
  }
}

StatusRow* TakeRow(ServiceZone& zone) {
  RetireDead(zone);
  for (uint32_t i = 0; i < zone.row_count; ++i) {
    if (zone.rows[i].pid == 0) return &zone.rows[i];
  }
  return nullptr;
}

StatusRow* ClaimRow(const ServiceConfig& service, ServiceZone& zone) {
  std::vector<OwnRow>& own = OwnRows();
  if (own.size() <= service.index) own.resize(service.index + 1);
  own[service.index].tried = ngx_time();
  ZoneLock lock(service);
  StatusRow* row = TakeRow(zone);
  if (row == nullptr) return nullptr;
  row->started = StartOf(ngx_pid);
  row->generation = static_cast<uint64_t>(service.generation);
  row->worker = static_cast<uint32_t>(ngx_worker);
  row->pid = ngx_pid;
  own[service.index].row = row;
  return row;
}

// Processes that a reload left running may have held all rows when this worker started, so it tries
// again. The search is slow and may be requested often; it runs at most once per second.
StatusRow* FindOrClaimRow(const ServiceConfig& service, ServiceZone& zone) {
  if (StatusRow* row = FindStatusRow(service)) return row;
  const std::vector<OwnRow>& own = OwnRows();
  if (service.index < own.size() && own[service.index].tried == ngx_time()) return nullptr;
  return ClaimRow(service, zone);
}

uint64_t OpenSockets(const ServiceZone& zone) {
  uint64_t open = 0;
  for (uint32_t i = 0; i < zone.row_count; ++i) open += zone.rows[i].Get(StatusGauge::kSockets);
  return open;
}

}  // namespace

void StatusCounters::Fold(const StatusCounters& other) {
  std::vector<const Cell*> from;
  ForEachCell(const_cast<StatusCounters&>(other), [&](const Cell& cell) { from.push_back(&cell); });
  size_t next = 0;
  ForEachCell(*this,
              [&](Cell& cell) { Increment(cell, from[next++]->load(std::memory_order_relaxed)); });
}

void StatusCounters::Clear() {
  ForEachCell(*this, [](Cell& cell) { cell.store(0, std::memory_order_relaxed); });
}

void ClaimStatusRow(const ServiceConfig& service) noexcept {
  Guarded(ngx_cycle->log, [&] {
    ServiceZone* zone = FindZone(service);
    if (zone == nullptr) return;
    if (ClaimRow(service, *zone) != nullptr) return;
    const bool refuses = service.settings != nullptr && service.settings->websocket.total.max > 0;
    Log(ngx_cycle->log, NGX_LOG_WARN,
        "service \"" + service.name + "\": no status row is free, this worker is not shown" +
            (refuses ? " and refuses WebSockets until one is" : ""));
  });
}

void ReleaseStatusRow(const ServiceConfig& service) noexcept {
  Guarded(ngx_cycle->log, [&] {
    StatusRow* row = FindStatusRow(service);
    if (row == nullptr) return;
    OwnRows()[service.index].row = nullptr;
    ZoneLock lock(service);
    Retire(*FindZone(service), *row);
  });
}

StatusRow* FindStatusRow(const ServiceConfig& service) {
  const std::vector<OwnRow>& own = OwnRows();
  return service.index < own.size() ? own[service.index].row : nullptr;
}

bool IsAlive(const StatusRow& row) {
  const int64_t pid = row.pid;
  if (pid == 0) return false;
  if (std::ranges::find(OwnRows(), &row, &OwnRow::row) != OwnRows().end()) return true;
  // kill() works even if this process has no file descriptor left.
  if (kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) return false;
  // An unknown start time proves nothing.
  const uint64_t started = row.started;
  const uint64_t found = StartOf(pid);
  return started == 0 || found == 0 || found == started;
}

bool TakeSharedSocketPlace(const ServiceConfig& service, uint64_t max) {
  ServiceZone* zone = FindZone(service);
  if (zone == nullptr) return false;
  StatusRow* own = FindOrClaimRow(service, *zone);
  if (own == nullptr) return false;
  ZoneLock lock(service);
  if (OpenSockets(*zone) >= max) {
    // The row of a killed worker is freed when its successor starts, but a worker that was killed
    // while it drained has no successor. The search is slow and may be requested often; it runs at
    // most once per second.
    if (zone->looked == ngx_time()) return false;
    zone->looked = ngx_time();
    RetireDead(*zone);
    if (OpenSockets(*zone) >= max) return false;
  }
  own->Set(StatusGauge::kSockets, own->Get(StatusGauge::kSockets) + 1);
  return true;
}

RouteClass RouteClassOf(std::string_view pattern) {
  if (pattern.starts_with("/v1/")) pattern.remove_prefix(3);
  pattern.remove_prefix(pattern.empty() ? 0 : 1);
  std::string_view first = pattern.substr(0, pattern.find_first_of("/:"));
  for (size_t i = 0; i < std::size(kRouteNames); ++i) {
    if (kRouteNames[i] == first) return static_cast<RouteClass>(i);
  }
  if (first == "openapi.json" || first == "redoc") return RouteClass::kDocs;
  return RouteClass::kOther;
}

void CountRequest(const ServiceConfig& service, std::string_view route_pattern,
                  std::string_view outcome_name, ngx_uint_t http_status) {
  StatusRow* row = FindStatusRow(service);
  if (row == nullptr) return;
  StatusCounters& counters = row->counters;
  const auto route = static_cast<size_t>(RouteClassOf(route_pattern));
  const Outcome outcome = OutcomeOf(outcome_name);
  StatusCounters::Increment(counters.requests[route][static_cast<size_t>(outcome)]);
  if (outcome == Outcome::kRejected) {
    Refusal refusal = RefusalOf(http_status);
    StatusCounters::Increment(counters.refusals[static_cast<size_t>(refusal)]);
  }
}

void CountRun(const ServiceConfig& service, std::string_view outcome) {
  StatusRow* row = FindStatusRow(service);
  if (row == nullptr) return;
  StatusCounters::Increment(row->counters.runs[static_cast<size_t>(OutcomeOf(outcome))]);
}

std::string_view NameOf(RouteClass value) {
  return kRouteNames[static_cast<size_t>(value)];
}

std::string_view NameOf(Outcome value) {
  return kOutcomeNames[static_cast<size_t>(value)];
}

std::string_view NameOf(Refusal value) {
  return kRefusalNames[static_cast<size_t>(value)];
}

}  // namespace agent_graph::nginx

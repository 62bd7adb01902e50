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

// True if a process that started at that time runs, or if that is unknown.
bool IsRunning(int64_t pid, uint64_t started) {
  // kill() works even if this process has no file descriptor left.
  if (kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) return false;
  // An unknown start time proves nothing.
  const uint64_t found = StartOf(pid);
  return started == 0 || found == 0 || found == started;
}

bool IsOwn(const StatusRow& row) {
  return std::ranges::find(OwnRows(), &row, &OwnRow::row) != OwnRows().end();
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

template <size_t count>
void AddCells(StatusCounters::Cell (&to)[count], const StatusCounters::Cell (&from)[count]) {
  for (size_t i = 0; i < count; ++i) {
    StatusCounters::Increment(to[i], from[i].load(std::memory_order_relaxed));
  }
}

// Adds the counters of an ended process to the retired counters and frees its row.
void Retire(ServiceZone& zone, StatusRow& row) {
  zone.retired.Fold(row.counters);
  row.counters.Clear();
  for (auto& gauge : row.gauges) gauge = 0;
  row.draining = false;
  row.pid = 0;
}

// Call it without the zone's lock.
void RetireDead(const ServiceConfig& service, ServiceZone& zone) {
  const RowOwners owners(zone);
  ZoneLock lock(service);
  for (uint32_t i = 0; i < zone.row_count; ++i) {
    StatusRow& row = zone.rows[i];
    if (owners.HasDied(row)) Retire(zone, row);
  }
}

StatusRow* ClaimRow(const ServiceConfig& service, ServiceZone& zone) {
  std::vector<OwnRow>& own = OwnRows();
  if (own.size() <= service.index) own.resize(service.index + 1);
  own[service.index].tried = ngx_time();
  RetireDead(service, zone);
  const uint64_t started = StartOf(ngx_pid);
  ZoneLock lock(service);
  StatusRow* const end = zone.rows + zone.row_count;
  StatusRow* const row =
      std::find_if(zone.rows, end, [](const StatusRow& candidate) { return candidate.pid == 0; });
  if (row == end) return nullptr;
  row->started = started;
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

// Workers other than `own` that accept connections; those of an earlier configuration are about to
// leave.
size_t CountAccepting(const ServiceZone& zone, const StatusRow& own, const RowOwners* owners) {
  return static_cast<size_t>(
      std::count_if(zone.rows, zone.rows + zone.row_count, [&](const StatusRow& row) {
        const bool accepts = row.pid != 0 && !row.draining && row.Get(StatusGauge::kUp) != 0 &&
                             row.generation >= own.generation;
        return accepts && &row != &own && (owners == nullptr || !owners->HasDied(row));
      }));
}

bool CountSocketBelow(uint64_t max, const ServiceZone& zone, StatusRow& own) {
  if (OpenSockets(zone) >= max) return false;
  own.Set(StatusGauge::kSockets, own.Get(StatusGauge::kSockets) + 1);
  return true;
}

}  // namespace

void StatusCounters::Fold(const StatusCounters& other) {
  for (size_t route = 0; route < std::size(requests); ++route) {
    AddCells(requests[route], other.requests[route]);
  }
  AddCells(runs, other.runs);
  AddCells(refusals, other.refusals);
  AddCells(plain, other.plain);
}

void StatusCounters::Clear() {
  const auto clear = [](Cell& cell) { cell.store(0, std::memory_order_relaxed); };
  for (auto& route : requests) std::ranges::for_each(route, clear);
  std::ranges::for_each(runs, clear);
  std::ranges::for_each(refusals, clear);
  std::ranges::for_each(plain, clear);
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

RowOwners::RowOwners(const ServiceZone& zone) {
  for (uint32_t i = 0; i < zone.row_count; ++i) {
    const StatusRow& row = zone.rows[i];
    const Owner owner{&row, row.pid, row.started};
    if (owner.pid != 0 && !IsOwn(row) && !IsRunning(owner.pid, owner.started)) {
      dead_.push_back(owner);
    }
  }
}

bool RowOwners::HasDied(const StatusRow& row) const {
  return std::ranges::any_of(dead_, [&](const Owner& owner) {
    return owner.row == &row && owner.pid == row.pid && owner.started == row.started;
  });
}

bool LeaveToOthers(const ServiceConfig& service, size_t others_min) {
  ServiceZone* zone = FindZone(service);
  StatusRow* own = FindStatusRow(service);
  if (zone == nullptr || own == nullptr) return false;
  if (CountAccepting(*zone, *own, nullptr) < others_min) return false;  // without reading /proc
  const RowOwners owners(*zone);
  // Two workers that leave at the same time must not count each other.
  ZoneLock lock(service);
  if (CountAccepting(*zone, *own, &owners) < others_min) return false;
  own->draining = true;
  return true;
}

bool TakeSharedSocketPlace(const ServiceConfig& service, uint64_t max) {
  ServiceZone* zone = FindZone(service);
  if (zone == nullptr) return false;
  StatusRow* own = FindOrClaimRow(service, *zone);
  if (own == nullptr) return false;
  {
    ZoneLock lock(service);
    if (CountSocketBelow(max, *zone, *own)) return true;
    // The row of a killed worker is freed when its successor starts, but a worker that was killed
    // while it drained has no successor. The search is slow and may be requested often; it runs at
    // most once per second.
    if (zone->looked == ngx_time()) return false;
    zone->looked = ngx_time();
  }
  RetireDead(service, *zone);
  ZoneLock lock(service);
  return CountSocketBelow(max, *zone, *own);
}

RouteClass RouteClassOf(std::string_view pattern) {
  if (pattern.starts_with("/v1/")) pattern.remove_prefix(3);
  pattern.remove_prefix(pattern.empty() ? 0 : 1);
  std::string_view first = pattern.substr(0, std::min(pattern.find('/'), pattern.find(':')));
  for (size_t i = 0; i < std::size(kRouteNames); ++i) {
    if (kRouteNames[i] == first) return static_cast<RouteClass>(i);
  }
  if (first == "openapi.json" || first == "redoc") return RouteClass::kDocs;
  return RouteClass::kOther;
}

void CountRequest(const ServiceConfig& service, RouteClass route, std::string_view outcome_name,
                  ngx_uint_t http_status) {
  StatusRow* row = FindStatusRow(service);
  if (row == nullptr) return;
  StatusCounters& counters = row->counters;
  const Outcome outcome = OutcomeOf(outcome_name);
  StatusCounters::Increment(
      counters.requests[static_cast<size_t>(route)][static_cast<size_t>(outcome)]);
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

#include "ngx_module/request/rate_limit.h"

#include <time.h>

#include <algorithm>
#include <new>
#include <vector>

#include "api/http/rate_limit.h"
#include "api/routes.h"
#include "base/ids.h"
#include "base/letter_case.h"
#include "limits/key.h"
#include "ngx_module/callback.h"
#include "ngx_module/request/nginx_user.h"
#include "ngx_module/request/request_context.h"
#include "ngx_module/status/service_zone.h"

namespace agent_graph::nginx {
namespace {

using limits::RateDecision;
using limits::RateLimitOptions;
using limits::RateTable;

constexpr size_t kWorkerTableBytesMax = 4 * 1024 * 1024;
constexpr time_t kEvictionWarningSeconds = 60;

// Marks a counted request. Kept in the request's pool, so that it survives internal redirects.
// nginx's list of response headers refers to its strings.
struct CountedMark {
  api::RateLimitHeaders headers;
};

void DestroyMark(void* data) noexcept {
  static_cast<CountedMark*>(data)->~CountedMark();
}

bool WasCounted(const ngx_http_request_t* request) {
  for (ngx_pool_cleanup_t* cleanup = request->pool->cleanup; cleanup != nullptr;
       cleanup = cleanup->next) {
    if (cleanup->handler == DestroyMark) return true;
  }
  return false;
}

// The table of a limit with scope=worker: one per process and service.
RateTable WorkerTable(const ServiceConfig& service, const RateLimitOptions& options) {
  static std::vector<std::vector<uint64_t>> tables;
  if (tables.size() <= service.index) tables.resize(service.index + 1);
  std::vector<uint64_t>& memory = tables[service.index];
  if (memory.empty()) {
    size_t bytes = std::min(RateTable::BytesMax(options),
                            std::max(RateTable::BytesMin(options), kWorkerTableBytesMax));
    memory.resize(bytes / sizeof(uint64_t) + 1);
    RateTable::Format(memory.data(), memory.size() * sizeof(uint64_t), options,
                      {RandomUint64(), RandomUint64()});
  }
  return RateTable(memory.data());
}

limits::Millis MonotonicMillis() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<limits::Millis>(now.tv_sec) * 1000 +
         static_cast<limits::Millis>(now.tv_nsec) / 1'000'000;
}

RateDecision Decide(const ServiceConfig& service, const RateLimitOptions& options,
                    std::string_view key) {
  if (options.scope == RateLimitOptions::Scope::kWorker) {
    return WorkerTable(service, options).Check(key, MonotonicMillis());
  }
  ZoneLock lock(service);
  // The clock is read under the lock, so that times in the table never decrease.
  return RateTable(FindZone(service)->rate_table).Check(key, MonotonicMillis());
}

void WarnAboutEviction(const ServiceConfig& service) {
  static time_t last = 0;
  if (last != 0 && ngx_time() - last < kEvictionWarningSeconds) return;
  last = ngx_time();
  ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                "agent_graph: service \"%s\": the zone has no room for more callers, the rate "
                "limit forgets the oldest",
                service.name.c_str());
}

std::string ForwardedFor(const ngx_http_request_t* request) {
  std::string joined;
  ForEachRequestHeader(request, [&](std::string_view name, std::string_view value) {
    if (name != "x-forwarded-for") return;
    if (!joined.empty()) joined += ',';
    joined += value;
  });
  return joined;
}

RateDecision Count(ngx_http_request_t* request, const LocationConfig& location,
                   std::string_view user_id) {
  const ServiceConfig& service = *location.service;
  const RateLimitOptions& options = *service.settings->rate_limit;
  std::string address =
      limits::ClientAddress(options, View(request->connection->addr_text),
                            options.trusted_proxy_headers ? ForwardedFor(request) : "");
  RateDecision decision = Decide(service, options, limits::BucketKey(options, address, user_id));
  if (decision.evicted) WarnAboutEviction(service);
  if (StatusRow* row = FindStatusRow(service); row != nullptr) {
    row->counters.Add(decision.admitted ? StatusCounter::kRateAdmitted
                                        : StatusCounter::kRateRefused);
    if (decision.evicted) row->counters.Add(StatusCounter::kRateEvicted);
  }

  ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(request->pool, sizeof(CountedMark));
  if (cleanup == nullptr) throw std::bad_alloc();
  static_assert(alignof(CountedMark) <= NGX_ALIGNMENT);
  auto* mark = new (cleanup->data) CountedMark{api::DescribeRateLimit(decision, ngx_time())};
  cleanup->handler = DestroyMark;
  for (const auto& [name, value] : mark->headers) {
    if (AddResponseHeader(request, name, value) == nullptr) throw std::bad_alloc();
  }
  return decision;
}

// True if the request is counted by user after authentication. Routes that need no credentials are
// counted by address here.
bool IsCountedLater(const settings::Settings& settings, std::string_view method,
                    std::string_view path) {
  if (!api::CountsByUser(settings)) return false;
  api::RouteMatch match = api::MatchRoute(settings.facades, method, path);
  return match.kind == api::RouteMatch::Kind::kFound &&
         api::Routes()[match.route].access == api::Access::kGuarded;
}

// True if this process decides about the request, now or after authentication. With Redis the
// engine decides.
bool IsCountedHere(const ngx_http_request_t* request, const settings::Settings& settings,
                   std::string_view path) {
  if (!settings.rate_limit || request->method == NGX_HTTP_OPTIONS) return false;
  if (settings.rate_limit->backend == RateLimitOptions::Backend::kRedis) return false;
  return !limits::IsExcluded(*settings.rate_limit, path) && !WasCounted(request);
}

// Counts the request for its address. nullopt: admitted.
std::optional<api::Reply> CountForAddress(RequestContext& context) {
  ngx_http_request_t* request = context.request;
  RateDecision decision = Count(request, context.location, "");
  if (decision.admitted) return std::nullopt;
  bool handshake = IsHandshake(request);
  if (handshake) request->keepalive = 0;
  return api::Refuse(
      api::RateLimitedError(*context.location.service->settings->rate_limit, decision), handshake,
      context.request_id, context.render_error);
}

ngx_int_t Limit(ngx_http_request_t* request, const LocationConfig& location) {
  const settings::Settings& settings = *location.service->settings;
  if (!settings.rate_limit) return NGX_DECLINED;
  RequestContext* context = OpenContext(request, location);
  if (context == nullptr) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  const std::string& path = context->head.path;
  if (!IsCountedHere(request, settings, path)) return NGX_DECLINED;
  if (IsCountedLater(settings, View(request->method_name), path)) return NGX_DECLINED;
  std::optional<api::Reply> refusal = CountForAddress(*context);
  if (!refusal) return NGX_DECLINED;
  ngx_http_finalize_request(request, SendNativeReply(*context, *std::move(refusal), "rejected"));
  return NGX_DONE;
}

ngx_int_t HandlePreaccess(ngx_http_request_t* request) noexcept {
  return Guarded<ngx_int_t>(request->connection->log, NGX_HTTP_INTERNAL_SERVER_ERROR, [&] {
    const auto& location = *static_cast<LocationConfig*>(
        ngx_http_get_module_loc_conf(request, ngx_http_agent_graph_module));
    if (location.enabled != 1 || request != request->main) return ngx_int_t{NGX_DECLINED};
    const ngx_int_t forgotten = ForgetRemoteUser(request, location);
    return forgotten == NGX_OK ? Limit(request, location) : forgotten;
  });
}

}  // namespace

bool IsHandshake(const ngx_http_request_t* request) {
  return EqualsIgnoringCase(FindRequestHeader(request, "upgrade"), "websocket");
}

ngx_int_t AddRateLimit(ngx_conf_t* cf) noexcept {
  auto* core = static_cast<ngx_http_core_main_conf_t*>(
      ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
  ngx_array_t& handlers = core->phases[NGX_HTTP_PREACCESS_PHASE].handlers;
  if (ngx_array_push(&handlers) == nullptr) return NGX_ERROR;
  // nginx runs the handlers from the last to the first.
  auto* first = static_cast<ngx_http_handler_pt*>(handlers.elts);
  std::copy_backward(first, first + handlers.nelts - 1, first + handlers.nelts);
  *first = HandlePreaccess;
  return NGX_OK;
}

std::optional<api::Reply> CountRefusal(RequestContext& context) {
  ngx_http_request_t* request = context.request;
  const settings::Settings& settings = *context.location.service->settings;
  if (!IsCountedHere(request, settings, context.head.path)) return std::nullopt;
  return CountForAddress(context);
}

RateDecision CountForUser(ngx_http_request_t* request, const LocationConfig& location,
                          std::string_view user_id) {
  if (!WasCounted(request)) return Count(request, location, user_id);
  RateDecision decision;
  decision.admitted = true;
  return decision;
}

}  // namespace agent_graph::nginx

#include "api/routes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "api/resources/eval_routes.h"
#include "api/resources/file_routes.h"
#include "api/resources/graph_routes.h"
#include "api/resources/run_routes.h"
#include "api/resources/service_routes.h"
#include "api/resources/store_routes.h"
#include "api/resources/thread_routes.h"

namespace agent_graph::api {
namespace {

template <size_t... kSizes>
constexpr auto Join(const std::array<Route, kSizes>&... lists) {
  std::array<Route, (kSizes + ...)> table{};
  auto end = table.begin();
  ((end = std::ranges::copy(lists, end).out), ...);
  return table;
}

// A new resource or protocol adds its list here.
constexpr auto kRoutes = Join(kServiceRoutes, kGraphRoutes, kRunRoutes, kThreadRoutes, kStoreRoutes,
                              kFileRoutes, kEvalRoutes);

}  // namespace

std::span<const Route> Routes() {
  return kRoutes;
}

RouteMatch MatchRoute(std::string_view method, std::string_view raw_path) {
  static const Router router(kRoutes);
  return router.Match(method, raw_path);
}

Status CheckRouteGuards() {
  return CheckRouteGuards(kRoutes);
}

Status CheckRouteGuards(std::span<const Route> routes) {
  std::string offenders;
  for (const Route& route : routes) {
    const bool has_permission = route.permission.resource != auth::Resource::kNone &&
                                route.permission.action != auth::Action::kNone;
    if (route.access != Access::kGuarded || has_permission) continue;
    if (!offenders.empty()) offenders += ", ";
    offenders += std::string(NameOf(route.method)) + " " + std::string(route.pattern);
  }
  if (offenders.empty()) return Status::Ok();
  return Status(StatusCode::kInternal, "routes without a permission guard: " + offenders);
}

}  // namespace agent_graph::api

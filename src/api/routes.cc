#include "api/routes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "api/resources/eval_routes.h"
#include "api/resources/file_routes.h"
#include "api/resources/graph_routes.h"
#include "api/resources/run_routes.h"
#include "api/resources/service_routes.h"
#include "api/resources/store_routes.h"
#include "api/resources/thread_routes.h"
#include "facades/agui/agui_routes.h"
#include "facades/mcp/mcp_routes.h"
#include "facades/openai/openai_routes.h"

namespace agent_graph::api {
namespace {

template <size_t... kSizes>
constexpr auto Join(const std::array<Route, kSizes>&... lists) {
  std::array<Route, (kSizes + ...)> table{};
  auto end = table.begin();
  ((end = std::ranges::copy(lists, end).out), ...);
  return table;
}

// A new resource adds its list here.
constexpr auto kOwnRoutes = Join(kServiceRoutes, kGraphRoutes, kRunRoutes, kThreadRoutes,
                                 kStoreRoutes, kFileRoutes, kEvalRoutes);
// A new façade adds its list here, and its row below.
constexpr auto kRoutes =
    Join(kOwnRoutes, openai::kOpenAiRoutes, agui::kAgUiRoutes, mcp::kMcpRoutes);

constexpr std::array kFacades = {
    FacadeTable{
        .facade = Facade::kOpenAi,
        .name = "openai",
        .path = openai::kPath,
        .routes = openai::kOpenAiRoutes,
        .not_offered = openai::kResponseRoutesNotOffered,
        .settings = [](const settings::FacadesSettings& facades)
            -> const settings::FacadeSettings& { return facades.openai.facade; },
        .render_error = openai::RenderError,
        .schemas = openai::kSchemas,
        .error_schema = "OpenAiError",
    },
    FacadeTable{
        .facade = Facade::kAgUi,
        .name = "agui",
        .path = agui::kPath,
        .routes = agui::kAgUiRoutes,
        .settings = [](const settings::FacadesSettings& facades)
            -> const settings::FacadeSettings& { return facades.agui.facade; },
        .render_error = agui::RenderError,
        .schemas = agui::kSchemas,
        .error_schema = "AgUiError",
    },
    FacadeTable{
        .facade = Facade::kMcp,
        .name = "mcp",
        .path = mcp::kPath,
        .routes = mcp::kMcpRoutes,
        .settings = [](const settings::FacadesSettings& facades)
            -> const settings::FacadeSettings& { return facades.mcp.facade; },
        .render_error = mcp::RenderError,
        .schemas = mcp::kSchemas,
        .error_schema = "McpError",
    },
};

const Router& OwnRouter() {
  static const Router router(kOwnRoutes);
  return router;
}

const Router& RouterOf(size_t facade) {
  static const auto* const routers = [] {
    auto* made = new std::vector<Router>;
    for (const FacadeTable& table : kFacades) made->emplace_back(table.routes);
    return made;
  }();
  return (*routers)[facade];
}

// Index of the first route of a façade in the table.
size_t FirstRouteOf(size_t facade) {
  size_t first = kOwnRoutes.size();
  for (size_t i = 0; i < facade; ++i) first += kFacades[i].routes.size();
  return first;
}

// Returns what follows the façade's path; nullopt: `raw_path` is not below it.
std::optional<std::string_view> RestWithin(const FacadeTable& table,
                                           const settings::FacadesSettings& facades,
                                           std::string_view raw_path) {
  const settings::FacadeSettings& facade = table.settings(facades);
  if (!facade.enabled) return std::nullopt;
  // Base URLs with a trailing slash lead to "//openai/…".
  if (raw_path.starts_with("//")) raw_path.remove_prefix(1);
  const std::string_view path = facade.path;
  if (!raw_path.starts_with(path)) return std::nullopt;
  raw_path.remove_prefix(path.size());
  if (!raw_path.empty() && raw_path.front() != '/') return std::nullopt;
  return raw_path;
}

// Returns the pattern with a text in place of each parameter.
std::string ExampleOf(std::string_view pattern) {
  std::string path(pattern);
  for (size_t at = path.find('{'); at != std::string::npos; at = path.find('{', at)) {
    path.replace(at, path.find('}', at) - at + 1, "x");
  }
  return path;
}

}  // namespace

std::span<const Route> Routes() {
  return kRoutes;
}

std::span<const FacadeTable> Facades() {
  return kFacades;
}

RouteMatch MatchRoute(const settings::FacadesSettings& facades, std::string_view method,
                      std::string_view raw_path) {
  RouteMatch match = OwnRouter().Match(method, raw_path);
  if (match.kind != RouteMatch::Kind::kNotFound) return match;
  for (size_t i = 0; i < kFacades.size(); ++i) {
    const std::optional<std::string_view> rest = RestWithin(kFacades[i], facades, raw_path);
    if (!rest) continue;
    // The patterns begin with the façade's default path.
    const std::string path = std::string(kFacades[i].path).append(*rest);
    const auto& not_offered = kFacades[i].not_offered;
    if (std::ranges::find(not_offered, path) != not_offered.end()) continue;
    match = RouterOf(i).Match(method, path);
    if (match.kind == RouteMatch::Kind::kNotFound) continue;
    match.route = static_cast<uint16_t>(match.route + FirstRouteOf(i));
    return match;
  }
  return match;
}

ErrorRenderer RendererOf(const settings::FacadesSettings& facades, std::string_view raw_path) {
  for (const FacadeTable& table : kFacades) {
    if (!RestWithin(table, facades, raw_path)) continue;
    // A façade may share the start of its path with routes of this API.
    if (OwnRouter().Match("GET", raw_path).kind != RouteMatch::Kind::kNotFound) break;
    return table.render_error;
  }
  return ErrorReply;
}

std::string PathOf(const settings::FacadesSettings& facades, const Route& route) {
  for (const FacadeTable& table : kFacades) {
    if (table.facade != route.facade) continue;
    const settings::FacadeSettings& facade = table.settings(facades);
    if (!facade.enabled) return "";
    return facade.path + std::string(route.pattern.substr(table.path.size()));
  }
  return std::string(route.pattern);
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

Status CheckFacadePaths(const settings::FacadesSettings& facades) {
  for (const FacadeTable& table : kFacades) {
    for (const Route& route : table.routes) {
      const std::string path = PathOf(facades, route);
      if (path.empty()) break;
      const std::string_view method = NameOf(route.method);
      const RouteMatch match = MatchRoute(facades, method, ExampleOf(path));
      const bool is_found = match.kind == RouteMatch::Kind::kFound;
      if (is_found && kRoutes[match.route].pattern == route.pattern) continue;
      return Status(StatusCode::kInvalidArgument,
                    "facades." + std::string(table.name) + ".path: \"" +
                        table.settings(facades).path + "\" leads " + std::string(method) + " " +
                        path + " to another route; choose another path");
    }
  }
  return Status::Ok();
}

}  // namespace agent_graph::api

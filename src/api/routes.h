// The route table. Each resource lists its routes in api/resources/<resource>_routes.h, each façade
// in facades/<name>/; this table joins these lists. The nginx thread routes with it, the guard
// reads its permissions, the engine its handlers, and the OpenAPI document is generated from it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/http/facade.h"
#include "api/http/route.h"
#include "api/http/router.h"
#include "base/status.h"
#include "settings/settings.h"

namespace agent_graph::api {

// Returns the table: first the routes of this API, then those of each façade. Thread-safe, like all
// functions here.
std::span<const Route> Routes();
std::span<const FacadeTable> Facades();

// Finds a route of the table. See Router::Match. Routes of a façade are found below the path that
// the settings give it, and not at all if it is disabled.
RouteMatch MatchRoute(const settings::FacadesSettings& facades, std::string_view method,
                      std::string_view raw_path);

// Returns the renderer of errors for a path that may have no route: below the path of a façade it
// is that of the façade.
ErrorRenderer RendererOf(const settings::FacadesSettings& facades, std::string_view raw_path);

// Returns the path of a route as these settings serve it; empty: they do not.
std::string PathOf(const settings::FacadesSettings& facades, const Route& route);

// Checks that every guarded route has a permission. A failure lists the other routes.
Status CheckRouteGuards();
Status CheckRouteGuards(std::span<const Route> routes);

// Checks that the paths of the façades leave each route a path of its own.
Status CheckFacadePaths(const settings::FacadesSettings& facades);

}  // namespace agent_graph::api

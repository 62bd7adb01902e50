// The route table. Each resource lists its routes in api/resources/<resource>_routes.h; this table
// joins these lists. The nginx thread routes with it, the guard reads its permissions, the engine
// its handlers, and the OpenAPI document is generated from it.
#pragma once

#include <span>
#include <string_view>

#include "api/http/route.h"
#include "api/http/router.h"
#include "base/status.h"

namespace agent_graph::api {

// Returns the table. Thread-safe, like all functions here.
std::span<const Route> Routes();

// Finds a route of the table. See Router::Match.
RouteMatch MatchRoute(std::string_view method, std::string_view raw_path);

// Checks that every guarded route has a permission. A failure lists the other routes.
Status CheckRouteGuards();
Status CheckRouteGuards(std::span<const Route> routes);

}  // namespace agent_graph::api

// The route table. The nginx thread uses it for routing and method checks, the guard for
// permissions, the start-up check for missing guards, and the engine for handlers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/route.h"
#include "base/status.h"

namespace agent_graph::api {

// Returns the table. Thread-safe.
std::span<const Route> Routes();

struct RouteMatch {
  enum class Kind : uint8_t { kFound, kNotFound, kMethodNotAllowed };
  Kind kind = Kind::kNotFound;
  uint16_t route = 0;                        // index into Routes()
  bool trailing_slash = false;               // the path is the route's path with a trailing slash
  std::vector<std::string> path_parameters;  // decoded once
  std::string allow;                         // for kMethodNotAllowed: "GET, HEAD, OPTIONS"
};

// `raw_path` is the request target's path as sent, location prefix stripped, without query.
// Segments are split before decoding, so %2F stays inside its segment. A decoded segment that is or
// contains a "." or ".." path component is not found, except as the id in a route that creates a
// thread: its handler refuses that id. One slash at the end is allowed and is no empty id. HEAD
// matches GET. Nginx thread: no allocation beyond the parameters, no exceptions.
RouteMatch MatchRoute(std::string_view method, std::string_view raw_path);

// Checks that every guarded route has a permission and that every public route is on the allowlist.
// A failure lists the other routes.
Status CheckRouteGuards();
Status CheckRouteGuards(std::span<const Route> routes);

}  // namespace agent_graph::api

// Examples of the routes about the service itself, for the OpenAPI document; service_routes.h names
// them. A test sends each of them.
#pragma once

#include "api/http/route.h"

namespace agent_graph::api {

inline constexpr RouteExample kPingExample{.answer = R"json("pong")json"};

inline constexpr RouteExample kReadyExample{.answer = R"json("ready")json"};

}  // namespace agent_graph::api

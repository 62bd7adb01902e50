// A façade: a table of routes that speak the protocol of other clients.
#pragma once

#include <span>
#include <string_view>

#include "api/http/route.h"

namespace agent_graph::api {

// A row of the table of façades in api/routes.cc.
struct FacadeTable {
  Facade facade = Facade::kNone;
  std::string_view name;  // its key in `facades` of service.json; its section of the document
  // Common prefix of its routes' patterns; also the default of `facades.<name>.path`.
  std::string_view path;
  std::span<const Route> routes;
  // Paths of the protocol that are not offered, although a pattern of `routes` matches them: 404.
  std::span<const std::string_view> not_offered = {};
  const settings::FacadeSettings& (*settings)(const settings::FacadesSettings&) = nullptr;
  ErrorRenderer render_error = nullptr;
  std::string_view schemas;       // JSON Schemas by name, for the OpenAPI document
  std::string_view error_schema;  // the one of its errors
};

}  // namespace agent_graph::api

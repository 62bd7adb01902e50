// The service described for programs: OpenAPI 3.1, from the route table and the tables that
// requests are checked against.
#pragma once

#include <string>
#include <string_view>

#include "settings/settings.h"

namespace agent_graph::api {

// The document as JSON text. `base_path` is what stands before every path ("" or "/support").
// Costs milliseconds: made when the configuration is read.
std::string OpenApiDocument(const settings::Settings& settings, std::string_view base_path);

}  // namespace agent_graph::api

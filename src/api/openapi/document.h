// Generates the OpenAPI 3.1 document from the route table and the tables of request fields.
#pragma once

#include <string>
#include <string_view>

#include "settings/settings.h"

namespace agent_graph::api {

// Returns the document as JSON text. `base_path` is the prefix of all paths ("" or "/support").
// Takes some milliseconds, so it is called only when the configuration is read.
std::string OpenApiDocument(const settings::Settings& settings, std::string_view base_path);

}  // namespace agent_graph::api

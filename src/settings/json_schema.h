// The JSON Schema of service.json, for editors. Made from the tables of keys.
#pragma once

#include <string>

namespace agent_graph::settings {

// Returns the text of conf/service.schema.json. The schema (draft 2020-12) accepts every document
// that Load accepts, and refuses unknown keys and values of a wrong type, out of bounds or with an
// unknown name.
std::string ServiceSchema();

}  // namespace agent_graph::settings

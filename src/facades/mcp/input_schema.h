// The schema of a tool's arguments, as clients accept it.
#pragma once

#include <string>

namespace agent_graph::mcp {

// `parameters_json` is the JSON Schema of a tool of the graph. Returns it with the type "object"
// and without `x-mcp-header`. Thread-safe.
std::string InputSchemaOf(const std::string& parameters_json);

}  // namespace agent_graph::mcp

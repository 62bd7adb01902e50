// Reads the tools of a tool node in the declarative form.
#pragma once

#include "graph/definition.h"
#include "graph/object_reader.h"

namespace agent_graph::graph {

// Reads the keys "tools" (names of built-in tools, or HTTP tools) and "mcp_servers". Mistakes are
// reported to `reader`.
ToolNode ReadTools(ObjectReader& reader);

}  // namespace agent_graph::graph

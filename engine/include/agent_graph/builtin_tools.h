// The tools that the server brings along, for graphs in C++. Graphs in JSON name them in `tools`.
//
//   graph.AddToolNode("TOOLS", {weather, BuiltinTool("calculator")});
#pragma once

#include <string_view>

#include "agent_graph/export.h"
#include "agent_graph/tool.h"

namespace agent_graph {

// "calculator", "current_time", "remember" or "recall"; docs/sdk.md describes them. Throws
// std::invalid_argument for any other name.
AGENT_GRAPH_API Tool BuiltinTool(std::string_view name);

}  // namespace agent_graph

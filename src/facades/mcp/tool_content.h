// The output of a tool as the content of a result.
#pragma once

#include <string_view>

#include "agent_graph/json_fwd.h"

namespace agent_graph::mcp {

// True for a list of content blocks of the protocol, which tools of MCP servers return. Each has
// the members that its type must have: clients refuse the whole result otherwise. Thread-safe.
// `revision`: that of the client.
bool IsContent(const json& value, std::string_view revision);

}  // namespace agent_graph::mcp

// The output of a tool as the content of a result.
#pragma once

#include "agent_graph/json_fwd.h"

namespace agent_graph::mcp {

// True for a list of content blocks of the protocol, which tools of MCP servers return. Each has
// the members that its type must have: clients refuse the whole result otherwise. Thread-safe.
bool IsContent(const json& value);

}  // namespace agent_graph::mcp

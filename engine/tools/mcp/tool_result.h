// MCP's descriptions of tools and results of calls, in the engine's terms.
#pragma once

#include <string>

#include "agent_graph/json_fwd.h"
#include "agent_graph/tool.h"
#include "base/status.h"

namespace agent_graph::tools::mcp {

inline constexpr size_t kToolNameBytesMax = 64;  // the bound of model providers
inline constexpr size_t kDescriptionBytesMax = 4096;
inline constexpr size_t kSchemaBytesMax = 64 * 1024;

// `described` is an element of tools/list. The name gets `prefix`, and '_' for what model providers
// refuse in names; the tool has no function yet. A failure says why it cannot be offered.
Result<Tool> ToTool(const json& described, const std::string& prefix);

// The result of tools/call: structured content as it is, one or more texts as text, anything else
// as MCP's own list of content blocks.
ToolOutput ToOutput(const json& result);

}  // namespace agent_graph::tools::mcp

// Converts MCP's tool descriptions and call results to the engine's types.
#pragma once

#include <string>

#include "agent_graph/json_fwd.h"
#include "agent_graph/tool.h"
#include "base/status.h"

namespace agent_graph::tools::mcp {

inline constexpr size_t kToolNameBytesMax = 64;  // limit of model providers
inline constexpr size_t kDescriptionBytesMax = 4096;
inline constexpr size_t kSchemaBytesMax = 64 * 1024;

// Converts an element of tools/list. `prefix` is added to the name, and characters that model
// providers refuse become '_'. The tool has no function yet. An error states why the tool cannot be
// offered.
Result<Tool> ToTool(const json& described, const std::string& prefix);

// Converts the result of tools/call: structured content unchanged, one or more texts as text,
// anything else as MCP's list of content blocks.
ToolOutput ToOutput(const json& result);

}  // namespace agent_graph::tools::mcp

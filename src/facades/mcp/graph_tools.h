// The tools of the graph that clients may call without the agent: those with a tag of
// facades.mcp.tools.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/tool.h"
#include "facades/mcp/agent_call.h"
#include "facades/mcp/call.h"

namespace agent_graph::mcp {

struct GraphTool {
  std::shared_ptr<const Tool> tool;
  std::string node;
};

// Suspends the fiber while the tools of an MCP server of the graph are not known. Names are unique,
// and none is that of the agent.
std::vector<GraphTool> FindGraphTools(api::HandlerContext& context);
std::optional<GraphTool> FindGraphTool(api::HandlerContext& context, const std::string& name);

// Calls the tool, and answers the request. The call ends with the connection, or when the client
// cancels it.
void CallGraphTool(const Call& call, const ToolCall& tool, const GraphTool& found);

}  // namespace agent_graph::mcp

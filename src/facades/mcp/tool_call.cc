// tools/call: the agent, or a tool of the graph.
#include "facades/mcp/agent_call.h"
#include "facades/mcp/graph_tools.h"
#include "facades/mcp/methods.h"

namespace agent_graph::mcp {

void CallTool(const Call& call) {
  ToolCall tool;
  if (auto error = ReadToolCall(call.message, tool)) return SendError(call, *error);
  if (tool.name == AgentToolName(call.context)) return CallAgent(call, tool);
  const std::optional<GraphTool> found = FindGraphTool(call.context, tool.name);
  if (!found) return SendError(call, {kInvalidParams, "params.name: there is no such tool"});
  CallGraphTool(call, tool, *found);
}

}  // namespace agent_graph::mcp

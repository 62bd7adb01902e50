// tools/call: the agent, or a tool of the graph.
#include "facades/mcp/agent_call.h"
#include "facades/mcp/asking.h"
#include "facades/mcp/graph_tools.h"
#include "facades/mcp/methods.h"

namespace agent_graph::mcp {

void CallTool(const Call& call) {
  ToolCall tool;
  if (auto error = ReadToolCall(call.message, tool)) return SendError(call, *error);
  if (!call.peer.session.empty()) {
    // A call that is cancelled while it is in progress gets no response. A call with a cancelled id
    // gets an error: clients that reopen a session may begin their ids again, and wait for a
    // response.
    const Result<bool> cancelled =
        IsCancelled(call.context, CallKey(call.peer, call.message.id_json));
    if (!cancelled.ok()) return SendFailure(call, cancelled.status());
    if (*cancelled) {
      return SendError(call,
                       {kInvalidRequest, "id: the call of this session with it was cancelled"});
    }
  }
  if (tool.name == AgentToolName(call.context)) return CallAgent(call, tool);
  const std::optional<GraphTool> found = FindGraphTool(call.context, tool.name);
  if (!found) return SendError(call, {kInvalidParams, "params.name: there is no such tool"});
  CallGraphTool(call, tool, *found);
}

}  // namespace agent_graph::mcp

// Calls of the agent's tool.
#pragma once

#include <optional>
#include <string>

#include "api/resources/run_request.h"
#include "facades/mcp/agent_tool.h"
#include "facades/mcp/call.h"

namespace agent_graph::mcp {

// A call of a tool.
struct ToolCall {
  std::string name;
  const json* arguments = nullptr;  // an object, never null
  std::string progress_token_json;  // empty: the client wants no reports
  std::string digest;               // stands for name and arguments
};

// Reads tools/call. Returns the error of a call that is malformed.
std::optional<RpcError> ReadToolCall(const RpcMessage& message, ToolCall& tool);

// Runs the agent, and answers the request. The run ends with the connection, unless the client has
// a session.
void CallAgent(const Call& call, const ToolCall& tool);

// The run of a call: a message of the user, or the answers to the questions of a paused run.
api::GraphRequest AgentRun(const api::HandlerContext& context, const std::string& thread_id,
                           std::vector<Message> messages);

// Answers a call that could not run: as the result of a tool that has failed, or with an error if
// the service is the reason.
void SendFailedCall(const Call& call, const api::ErrorInfo& error);

}  // namespace agent_graph::mcp

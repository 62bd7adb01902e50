// Calls of the agent in a session. The run is accepted: it goes on without its connection and its
// worker, and the client can resume the stream of the call at any worker.
#pragma once

#include <string_view>

#include "api/resources/run_request.h"
#include "facades/mcp/agent_call.h"
#include "facades/mcp/asking.h"
#include "facades/mcp/call.h"

namespace agent_graph::mcp {

// Each answers the request.
void CallAgentInSession(const Call& call, const ToolCall& tool, api::GraphRequest request);
// GET with Last-Event-ID: sends what follows that event.
void ResumeCall(api::HandlerContext& context, const Peer& peer, std::string_view event_id);
// Handles notifications/cancelled: stops the run of the call.
void CancelCall(api::HandlerContext& context, const Peer& peer, const RpcMessage& message);

}  // namespace agent_graph::mcp

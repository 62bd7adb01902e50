// Handlers of the façade for clients of the Model Context Protocol. Each runs on its own fiber, may
// suspend it, and answers the request.
#pragma once

namespace agent_graph::api {
class HandlerContext;
}

namespace agent_graph::mcp {

void ReceiveMessage(api::HandlerContext& context);  // endpoint.cc
void ResumeStream(api::HandlerContext& context);
void DeleteSession(api::HandlerContext& context);
void ShowProtectedResource(api::HandlerContext& context);  // protected_resource.cc

}  // namespace agent_graph::mcp

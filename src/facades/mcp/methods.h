// The methods of the protocol. Each answers the request, and may suspend the fiber.
#pragma once

#include <span>
#include <string_view>

#include "facades/mcp/call.h"

namespace agent_graph::mcp {

void Discover(const Call& call);  // handshake.cc
void Initialize(const Call& call);
void ListTools(const Call& call);      // tool_list.cc
void CallTool(const Call& call);       // tool_call.cc
void ListResources(const Call& call);  // resources.cc
void ListResourceTemplates(const Call& call);
void ReadResource(const Call& call);

}  // namespace agent_graph::mcp

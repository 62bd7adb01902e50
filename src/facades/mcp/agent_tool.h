// The agent as a tool: its description, and the arguments of a call.
#pragma once

#include <optional>
#include <string>

#include "agent_graph/json_fwd.h"
#include "api/http/context.h"

namespace agent_graph::mcp {

// The name of the graph, with '_' in place of characters that tools must not have.
std::string AgentToolName(const api::HandlerContext& context);
// The element of tools/list.
std::string AgentToolJson(const api::HandlerContext& context);

struct AgentArguments {
  std::string message;
  std::string thread_id;  // empty: a new thread
};

// Reads the arguments of a call. Returns what is wrong with them, or an empty text.
std::string ReadAgentArguments(const json& arguments, size_t message_bytes_max,
                               AgentArguments& read);

}  // namespace agent_graph::mcp

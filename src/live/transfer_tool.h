// The tool that the model calls to hand the conversation over: {"agent": name}.
#pragma once

#include <string>

#include "realtime/link.h"

namespace agent_graph::live {

inline constexpr char kTransferTool[] = "transfer_to_agent";

// Returns the agent that the call names; empty if the arguments are not valid.
std::string TransferTarget(const realtime::ToolCall& call);

}  // namespace agent_graph::live

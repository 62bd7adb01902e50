// Parses the JSON texts of tools and tool calls.
#pragma once

#include "agent_graph/json_fwd.h"
#include "agent_graph/message.h"
#include "base/status.h"
#include "models/model.h"

namespace agent_graph::models {

// The JSON Schema of the parameters; kModel names the tool if it is not JSON.
Result<json> ToolSchema(const ToolDeclaration& tool);
// kModel names the call if its arguments are not an object.
Result<json> CallArguments(const ToolCallBlock& call);

}  // namespace agent_graph::models

// Parses the JSON texts of tools and tool calls.
#pragma once

#include "agent_graph/json_fwd.h"
#include "agent_graph/message.h"
#include "base/status.h"
#include "models/model.h"

namespace agent_graph::models {

// Parses the JSON Schema of the parameters. kModel: it is not JSON; the error names the tool.
Result<json> ToolSchema(const ToolDeclaration& tool);
// Parses the arguments. kModel: they are not an object; the error names the call.
Result<json> CallArguments(const ToolCallBlock& call);

}  // namespace agent_graph::models

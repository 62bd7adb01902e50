// The JSON that tools and their calls carry as text.
#pragma once

#include "agent_graph/json_fwd.h"
#include "agent_graph/message.h"
#include "base/status.h"
#include "models/model.h"

namespace agent_graph::models {

// The schema of the parameters; kModel names the tool when it is no JSON.
Result<json> ToolSchema(const ToolDeclaration& tool);
// kModel names the call when its arguments are no object.
Result<json> CallArguments(const ToolCallBlock& call);

}  // namespace agent_graph::models

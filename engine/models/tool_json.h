// The JSON that tools and their calls carry as text.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "agent_graph/message.h"
#include "base/status.h"
#include "models/model.h"

namespace agent_graph::models {

// The schema of the parameters; kModel names the tool when it is no JSON.
Result<nlohmann::json> ToolSchema(const ToolDeclaration& tool);
// kModel names the call when its arguments are no object.
Result<nlohmann::json> CallArguments(const ToolCallBlock& call);

}  // namespace agent_graph::models

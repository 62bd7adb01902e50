// Converts a tool result to text for a model.
#pragma once

#include <string>

#include "agent_graph/message.h"

namespace agent_graph::models {

// The text of a JSON string, otherwise the JSON unchanged.
std::string ToolValueText(const ToolResultBlock& result);
// The same, with "Error: " before it if the tool failed.
std::string ToolOutputText(const ToolResultBlock& result);

}  // namespace agent_graph::models

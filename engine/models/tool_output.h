// How a model reads the result of a tool.
#pragma once

#include <string>

#include "agent_graph/message.h"

namespace agent_graph::models {

// A JSON string's text, else the JSON as it is.
std::string ToolValueText(const ToolResultBlock& result);
// The same, "Error: " before it when the tool failed.
std::string ToolOutputText(const ToolResultBlock& result);

}  // namespace agent_graph::models

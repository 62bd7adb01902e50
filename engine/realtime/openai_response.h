// Reads the `response` objects of OpenAI's Realtime API.
#pragma once

#include <vector>

#include "models/json_tree.h"
#include "realtime/link.h"

namespace agent_graph::realtime {

// The tool calls in `output` of a response.
std::vector<ToolCall> CallsOf(const models::JsonNode& output);
// The event that reports a response with status `failed`.
Event FailureOf(const models::JsonNode& response);

}  // namespace agent_graph::realtime

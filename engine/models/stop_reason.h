// Translates the stop reasons of all providers to ours.
#pragma once

#include <string_view>

namespace agent_graph::models {

// stop | tool_calls | length | content_filter, or `other` for an unknown reason.
std::string_view StopReason(std::string_view provider_reason);

}  // namespace agent_graph::models

// Why a model stopped, in the words of all providers and in ours.
#pragma once

#include <string_view>

namespace agent_graph::models {

// stop | tool_calls | length | content_filter, and `other` for what no provider is known to say.
std::string_view StopReason(std::string_view provider_reason);

}  // namespace agent_graph::models

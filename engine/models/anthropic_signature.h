// Owners of the signatures of reasoning that Anthropic made; see signature.h.
#pragma once

#include <string_view>

namespace agent_graph::models {

inline constexpr std::string_view kAnthropicThinking = "anthropic";
// The signature is all there is: the data of a redacted block.
inline constexpr std::string_view kAnthropicRedacted = "anthropic-redacted";

}  // namespace agent_graph::models

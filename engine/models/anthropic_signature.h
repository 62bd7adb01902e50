// Marks for reasoning signatures made by Anthropic; see signature.h.
#pragma once

#include <string_view>

namespace agent_graph::models {

inline constexpr std::string_view kAnthropicThinking = "anthropic";
// A redacted block: the signature is its data, there is no text.
inline constexpr std::string_view kAnthropicRedacted = "anthropic-redacted";

}  // namespace agent_graph::models

// Owners of the signatures of reasoning that Gemini made; see signature.h.
#pragma once

#include <string_view>

namespace agent_graph::models {

// Gemini signs any part of its reply. The signature of a call or a text travels in the reasoning
// block before it; with no such part after it, it is that of an empty text.
inline constexpr std::string_view kGeminiNext = "gemini";
// The signature of the thought itself.
inline constexpr std::string_view kGeminiThought = "gemini-thought";

}  // namespace agent_graph::models

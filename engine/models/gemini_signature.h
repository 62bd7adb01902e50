// Marks for reasoning signatures made by Gemini; see signature.h.
#pragma once

#include <string_view>

namespace agent_graph::models {

// Gemini signs any part of its reply. The signature of a call or a text is stored in the reasoning
// block before it. If no such part follows, the signature belongs to an empty text.
inline constexpr std::string_view kGeminiNext = "gemini";
// The signature of the thought itself.
inline constexpr std::string_view kGeminiThought = "gemini-thought";

}  // namespace agent_graph::models

#include "models/stop_reason.h"

namespace agent_graph::models {
namespace {

struct Reason {
  std::string_view provider;
  std::string_view ours;
};

constexpr Reason kReasons[] = {
    // OpenAI-compatible
    {"stop", "stop"},
    {"tool_calls", "tool_calls"},
    {"function_call", "tool_calls"},
    {"length", "length"},
    {"content_filter", "content_filter"},
    // Anthropic
    {"end_turn", "stop"},
    {"stop_sequence", "stop"},
    {"tool_use", "tool_calls"},
    {"max_tokens", "length"},
    {"model_context_window_exceeded", "length"},
    {"refusal", "content_filter"},
    // Gemini
    {"STOP", "stop"},
    {"FUNCTION_CALL", "tool_calls"},
    {"MAX_TOKENS", "length"},
    {"SAFETY", "content_filter"},
    {"RECITATION", "content_filter"},
    {"BLOCKLIST", "content_filter"},
    {"PROHIBITED_CONTENT", "content_filter"},
    {"SPII", "content_filter"},
    {"IMAGE_SAFETY", "content_filter"},
};

}  // namespace

std::string_view StopReason(std::string_view provider_reason) {
  for (const Reason& reason : kReasons) {
    if (reason.provider == provider_reason) return reason.ours;
  }
  return "other";
}

}  // namespace agent_graph::models

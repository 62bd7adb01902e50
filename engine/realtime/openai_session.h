// What OpenAI's Realtime API is told of a session, as JSON.
#pragma once

#include <string>
#include <vector>

#include "agent_graph/json.h"
#include "realtime/link.h"

namespace agent_graph::realtime {

inline constexpr int kOpenAiRate = 24'000;  // of sound; the only one, both ways

json OpenAiSession(const LinkConfig& config, const std::string& provider_parameters);
// Parts of it, for updates.
json OpenAiTurnDetection(const VoiceActivity& vad);
json OpenAiTools(const std::vector<models::ToolDeclaration>& tools);
// An item of the conversation: the text of a message.
json OpenAiTextItem(const Message& message);

}  // namespace agent_graph::realtime

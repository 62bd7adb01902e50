// JSON of sessions for OpenAI's Realtime API.
#pragma once

#include <string>
#include <vector>

#include "agent_graph/json.h"
#include "realtime/link.h"

namespace agent_graph::realtime {

inline constexpr int kOpenAiRate = 24'000;  // Hz, audio in both directions

json OpenAiSession(const LinkConfig& config, const std::string& provider_parameters);
// Parts of the session, for updates.
json OpenAiTurnDetection(const VoiceActivity& vad);
json OpenAiTools(const std::vector<models::ToolDeclaration>& tools);
// A conversation item with the text of a message.
json OpenAiTextItem(const Message& message);

}  // namespace agent_graph::realtime

// The system text for providers without system messages inside a conversation.
#pragma once

#include <string>

#include "models/model.h"

namespace agent_graph::models {

// The system prompt and the text blocks of all system messages, separated by blank lines.
std::string SystemText(const ModelRequest& request);

}  // namespace agent_graph::models

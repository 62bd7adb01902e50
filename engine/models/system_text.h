// What a provider that knows no system messages within a conversation is told beforehand.
#pragma once

#include <string>

#include "models/model.h"

namespace agent_graph::models {

// The prompt and the text blocks of all system messages, a blank line between them.
std::string SystemText(const ModelRequest& request);

}  // namespace agent_graph::models

// The texts of a message that consists of several blocks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/message.h"

namespace agent_graph::message {

// Texts of the text blocks that are not empty, in order. Valid as long as the message.
std::vector<std::string_view> Texts(const Message& message);

// The same as one text, for a reader that takes no blocks: a block begins on a new line, so that it
// is not glued to the one before it.
std::string JoinedTexts(const Message& message, std::string_view separator = "\n");

}  // namespace agent_graph::message

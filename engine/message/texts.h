// The texts of a message with several blocks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/message.h"

namespace agent_graph::message {

// The texts of all text blocks that are not empty, in order. The views are valid as long as the
// message.
std::vector<std::string_view> Texts(const Message& message);

// The same as one text, for consumers that do not take blocks: the separator keeps the end of one
// block apart from the start of the next.
std::string JoinedTexts(const Message& message, std::string_view separator = "\n");

}  // namespace agent_graph::message

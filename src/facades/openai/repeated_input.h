// Input of a request that follows a response and repeats what that response's request has sent.
#pragma once

#include <vector>

#include "agent_graph/message.h"

namespace agent_graph::openai {

// True if the input may repeat an earlier one: messages before results of tools. Some agent
// frameworks, such as Semantic Kernel, name the previous response and send its whole input again,
// followed by the results of its calls.
bool MayRepeat(const std::vector<Message>& input);

// Removes from such an input what the conversation has already: results of calls that have one, and
// the user's last messages.
void DropRepeated(const std::vector<Message>& conversation, std::vector<Message>& messages);

}  // namespace agent_graph::openai

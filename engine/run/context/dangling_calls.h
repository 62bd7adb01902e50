// Finds tool calls without a result and results without a call.
#pragma once

#include <string>
#include <vector>

#include "agent_graph/message.h"
#include "base/status.h"
#include "state/types.h"

namespace agent_graph::run {

// Returns the ids of the messages that make the conversation invalid: messages with a call that no
// later message answers, and messages that contain only results whose calls are missing or are in
// such a message.
std::vector<std::string> DanglingMessages(const std::vector<Message>& messages);

// Like the function above, for a stored window; returns kDataLoss if a message cannot be read.
Result<std::vector<std::string>> DanglingMessages(const std::vector<state::StoredMessage>& window);

}  // namespace agent_graph::run

// Tool calls without a result and results without a call.
#pragma once

#include <string>
#include <vector>

#include "agent_graph/message.h"
#include "base/status.h"
#include "state/types.h"

namespace agent_graph::run {

// The ids of the messages that make the conversation invalid: those with a call that no later
// message answers, and those that hold nothing but results whose call is missing or goes, too.
std::vector<std::string> DanglingMessages(const std::vector<Message>& messages);

// The same for a stored window; kDataLoss when a message cannot be read.
Result<std::vector<std::string>> DanglingMessages(const std::vector<state::StoredMessage>& window);

}  // namespace agent_graph::run

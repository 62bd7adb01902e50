// The working window in the order model providers insist on.
#pragma once

#include <vector>

#include "agent_graph/message.h"

namespace agent_graph::run {

// Each tool call is followed directly by its one result, in the order of the calls; a call without
// a result gets a failed one; results without a call, which appear where the window was cut, are
// left out.
std::vector<Message> ModelConversation(const std::vector<Message>& window);

}  // namespace agent_graph::run

// Orders the working window as model providers require it.
#pragma once

#include <vector>

#include "agent_graph/message.h"

namespace agent_graph::run {

// Each tool call is followed directly by exactly one result, in the order of the calls. No result
// answers two calls: of calls with the same id in one message, the first gets the first result. A
// call without a result gets a failed one. Results without a call, which occur where the window was
// cut, are omitted.
std::vector<Message> ModelConversation(const std::vector<Message>& window);

}  // namespace agent_graph::run

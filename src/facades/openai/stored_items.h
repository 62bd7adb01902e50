// The items that a request's stored messages are shown as.
#pragma once

#include <string>
#include <vector>

#include "agent_graph/message.h"

namespace agent_graph::openai {

// Appends the JSON of the items of a stored message, one text each, in the order of its blocks.
void AppendInputItems(const std::string& thread_id, const Message& message,
                      std::vector<std::string>& items);

// True for a message that hands calls to the client. They are in the answer of the model, too.
bool HandsOutCalls(const Message& message);

}  // namespace agent_graph::openai

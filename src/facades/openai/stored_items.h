// The items that a request's stored messages are shown as.
#pragma once

#include <string>
#include <vector>

#include "agent_graph/message.h"

namespace agent_graph::openai {

// Appends the JSON of the items of a stored message, one text each, in the order of its blocks.
void AppendInputItems(const std::string& thread_id, const Message& message,
                      std::vector<std::string>& items);

}  // namespace agent_graph::openai

// The log entry of a message: enough for a trace, but never the message's text.
#pragma once

#include <string_view>

#include "agent_graph/message.h"
#include "run/log/log_entry.h"

namespace agent_graph::run {

// `node` is empty for messages of the request.
entry::MessageAdded MessageEntry(const Message& message, std::string_view node);

}  // namespace agent_graph::run

// The log entry of a message: enough for a trace, but never the message's text.
#pragma once

#include <string>
#include <string_view>

#include "agent_graph/message.h"

namespace agent_graph::run {

// Returns {"message_id","node","role","blocks":[types],"tools":[names],"usage":{…},"model"}. The
// last three members are omitted if empty. `node` is empty for messages of the request.
std::string MessageEntryJson(const Message& message, std::string_view node);

}  // namespace agent_graph::run

// What the log says of a message: enough for a trace, never its text.
#pragma once

#include <string>
#include <string_view>

#include "agent_graph/message.h"

namespace agent_graph::run {

// {"message_id","node","role","blocks":[types],"tools":[names],"usage":{…},"model"}; the last three
// only where there is something to say. `node` is empty for the request's messages.
std::string MessageEntryJson(const Message& message, std::string_view node);

}  // namespace agent_graph::run

// Files that messages hold themselves, as base64 or in a data URL.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "agent_graph/message.h"
#include "api/context.h"

namespace agent_graph::api {

// What the files take in the message.
size_t InlineBytes(const Message& message);

// Files of a message that is larger than a message may be are stored like the caller's uploads, and
// the message refers to them. `texts_added`: the messages are larger than they were in the request.
// The error to answer with.
std::optional<ErrorInfo> StoreInlineFiles(HandlerContext& context, std::vector<Message>& messages,
                                          bool texts_added);

}  // namespace agent_graph::api

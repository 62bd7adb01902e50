// Files that messages contain inline, as base64 or in a data URL.
#pragma once

#include <optional>
#include <vector>

#include "agent_graph/message.h"
#include "api/http/context.h"

namespace agent_graph::api {

// Stores the inline files of each message that is too large, like uploads of the caller, and
// replaces them by references. `texts_added`: messages have become larger than they were in the
// request. Returns the error to answer with, if there is one. Suspends the calling fiber.
std::optional<ErrorInfo> StoreInlineFiles(HandlerContext& context, std::vector<Message>& messages,
                                          bool texts_added);

}  // namespace agent_graph::api

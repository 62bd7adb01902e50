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

// An inline file of more bytes is not kept in the request of a run that outlives its client.
inline constexpr size_t kStoredInlineBytesMax = 64 * 1024;

// Stores the larger inline files in the same way. A file that the settings of uploads do not admit
// stays in its message, and so do all of them if uploads are in memory, where a run would outlive
// them.
std::optional<ErrorInfo> StoreLargeInlineFiles(HandlerContext& context,
                                               std::vector<Message>& messages);

}  // namespace agent_graph::api

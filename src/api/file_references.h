// Files that messages refer to, looked up before a run.
#pragma once

#include <optional>
#include <vector>

#include "agent_graph/message.h"
#include "api/context.h"

namespace agent_graph::api {

inline constexpr size_t kFileReferencesMax = 64;  // of one request

// Each reference becomes a block of the kind that the stored file is, with its type, name and size;
// a document becomes its text, stays as it is, or goes, as `document_handling` says. Files within
// messages are stored where they are too large for them. The error to answer with: 404 for a file
// that does not exist for this caller.
std::optional<ErrorInfo> ResolveFiles(HandlerContext& context, std::vector<Message>& messages);

}  // namespace agent_graph::api

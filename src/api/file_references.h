// Files that messages refer to, looked up before they enter a thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/message.h"
#include "api/context.h"

namespace agent_graph::api {

inline constexpr size_t kFileReferencesMax = 64;  // of one array of messages

// Each reference becomes a block of the kind that the stored file is, with its type, name and size;
// a document becomes its text, stays as it is, or goes, as `document_handling` says. Files within
// messages are stored where they are too large for them. The error to answer with: 404 for a file
// that does not exist for this caller, 422 for a message that is too large with its texts. `path`
// is where the messages stand in the body.
//
// `thread_id`: the thread whose messages of the same ids these are, if it has them; empty: none.
// What such a message refers to already may be gone or another's, and stays as it is.
std::optional<ErrorInfo> ResolveFiles(HandlerContext& context, const std::vector<std::string>& path,
                                      const std::string& thread_id, std::vector<Message>& messages);

// The type, name and size that each file of the caller has, for the blocks of a message that is
// kept outside a thread. Blocks that refer to other files, and documents, stay as they are: a
// reference that cannot be read does no harm there. The error to answer with: too many references,
// or files that cannot be looked up now.
std::optional<ErrorInfo> DescribeFiles(HandlerContext& context,
                                       const std::vector<std::string>& path, Message& message);

}  // namespace agent_graph::api

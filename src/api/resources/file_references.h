// Looks up the files that messages refer to, before the messages are stored in a thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/message.h"
#include "api/http/context.h"

namespace agent_graph::api {

inline constexpr size_t kFileReferencesMax = 64;  // per array of messages

// Replaces each reference by a block of the kind of the stored file, with its type, name and size.
// A document becomes its text, is kept, or is removed, depending on `document_handling`. Inline
// files are stored as uploads if their message is too large. Returns the error to answer with, if
// there is one: 404 for a file that does not exist for this caller, 422 for a message that is too
// large with its texts. `path` is the location of the messages in the body. Suspends the calling
// fiber.
//
// `thread_id`: a thread that may already contain messages with these ids; empty: none. A reference
// that such a stored message already has is kept unchanged, even if its file was deleted or belongs
// to another user.
std::optional<ErrorInfo> ResolveFiles(HandlerContext& context, const std::vector<std::string>& path,
                                      const std::string& thread_id, std::vector<Message>& messages);

// Adds the type, name and size of the caller's files to the blocks of a message that is stored
// outside a thread. Documents, and references to other files, are not changed: there, a reference
// that cannot be read does no harm. Returns the error to answer with, if there is one: too many
// references, or a failed lookup.
std::optional<ErrorInfo> DescribeFiles(HandlerContext& context,
                                       const std::vector<std::string>& path, Message& message);

}  // namespace agent_graph::api

// Reads requests of the Conversations API, and answers with a conversation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent_graph/message.h"
#include "api/http/context.h"

namespace agent_graph::openai {

// The thread that the path names. An id that no thread can have is added to `problems`.
const std::string& ConversationId(const api::HandlerContext& context, api::Problems& problems);

// Reads `items` of the body, which may be absent, as messages of a thread, with ids of their own.
// The first error to answer with is one of `problems`. Suspends the calling fiber.
std::optional<api::ErrorInfo> ReadNewItems(api::HandlerContext& context, api::Problems& problems,
                                           std::vector<Message>& messages);

// Answers with the conversation as it is now. Suspends the calling fiber.
void SendConversation(api::HandlerContext& context, const std::string& thread_id);

}  // namespace agent_graph::openai

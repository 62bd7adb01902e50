// Conversations: threads in the form of OpenAI's API.
#pragma once

#include <string>

#include "agent_graph/json_fwd.h"
#include "api/http/validation.h"
#include "state/types.h"

namespace agent_graph::openai {

// The object of the protocol. The metadata of a conversation are the texts in the metadata of its
// thread, without those that the service keeps there.
std::string ConversationJson(const state::ThreadRecord& thread);

// Checks the names and texts of `metadata` of a body whose fields were checked.
void CheckConversationMetadata(const json& body, api::Problems& problems);

// Returns the change (a JSON merge patch) after which a thread with the metadata `stored_json` is a
// conversation with this metadata; null: with none.
json MetadataChange(const std::string& stored_json, const json* metadata);

}  // namespace agent_graph::openai

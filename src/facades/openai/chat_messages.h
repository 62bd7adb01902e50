// Reads messages in the form of Chat Completions.
#pragma once

#include <vector>

#include "agent_graph/json_fwd.h"
#include "agent_graph/message.h"
#include "api/http/validation.h"
#include "api/resources/message_input.h"

namespace agent_graph::openai {

// Reads an array whose entries the table of fields has checked, from index `first` on. Problems are
// added to `problems`; the result is then not complete.
std::vector<Message> ReadChatMessages(const json& array, size_t first,
                                      const api::MessageLimits& limits, api::Problems& problems);

// Returns the index after the last message of the assistant; 0: there is none.
size_t TailOf(const json& array);

}  // namespace agent_graph::openai

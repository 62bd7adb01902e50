// The items of a Responses request.
#pragma once

#include <functional>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "agent_graph/message.h"
#include "api/http/validation.h"
#include "api/resources/message_input.h"
#include "base/status.h"
#include "facades/openai/media_parts.h"
#include "facades/openai/object_ids.h"

namespace agent_graph::openai {

// Returns a stored message that the caller may read. kNotFound: there is none; kResourceExhausted:
// the request refers to too much. May suspend.
using StoredMessageLookup = std::function<Result<Message>(const ItemName& name)>;

// Reads `input`: a text, or an array of items. Items of the assistant that follow each other are
// one message, as a model produces them. Problems are added to `problems`; the result is then not
// complete.
std::vector<Message> ReadInput(const json& input, const api::MessageLimits& limits,
                               const StoredMessageLookup& find_message, api::Problems& problems);

// The same for an array of items, which may be empty and is at `place` of the body.
std::vector<Message> ReadItems(const json& items, const Location& place,
                               const api::MessageLimits& limits,
                               const StoredMessageLookup& find_message, api::Problems& problems);

}  // namespace agent_graph::openai

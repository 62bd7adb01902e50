// The fields of the requests below /conversations.
#pragma once

#include "api/http/fields.h"

namespace agent_graph::openai {

extern const api::FieldTable kConversationBody;        // POST /conversations
extern const api::FieldTable kConversationChangeBody;  // POST /conversations/{conversation_id}
extern const api::FieldTable kNewItemsBody;            // POST …/items

}  // namespace agent_graph::openai

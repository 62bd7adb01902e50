// The fields of POST /chat/completions, as far as they have a type of their own.
#pragma once

#include "api/http/fields.h"

namespace agent_graph::openai {

extern const api::FieldTable kChatBody;

}  // namespace agent_graph::openai

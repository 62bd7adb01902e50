// Converts messages of a request to the form that the state service stores.
#pragma once

#include <vector>

#include "agent_graph/message.h"
#include "base/id_generator.h"
#include "state/types.h"

namespace agent_graph::api {

// Gives an id to each message without an id or with the id of an earlier message, and a time to
// each message without one.
std::vector<state::StoredMessage> ToStored(std::vector<Message> messages, const IdGenerator& ids);

}  // namespace agent_graph::api

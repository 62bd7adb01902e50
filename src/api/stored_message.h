// Messages of a request in the form the store takes.
#pragma once

#include <vector>

#include "agent_graph/message.h"
#include "base/id_generator.h"
#include "state/types.h"

namespace agent_graph::api {

// Gives an id to each message that has none or repeats an earlier one's, and a time to each that
// has none.
std::vector<state::StoredMessage> ToStored(std::vector<Message> messages, const IdGenerator& ids);

}  // namespace agent_graph::api

// Conversations of two who take turns, as Anthropic and Gemini want them.
#pragma once

#include "agent_graph/json_fwd.h"
#include "base/status.h"

namespace agent_graph::models {

// Appends {"role": role, parts_key: parts} to `turns`, or `parts` to the last turn if it has that
// role: the results of parallel calls belong into one. Without parts there is no turn.
void AppendTurn(json& turns, const char* role, const char* parts_key, json parts);

// What is left of a conversation may be nothing, e.g. where a client sent only a result whose call
// is unknown. That is the client's mistake, while no provider says so clearly.
Status NothingToAnswer();

}  // namespace agent_graph::models

// Conversations of two who take turns, as Anthropic and Gemini want them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"

namespace agent_graph::models {

// Appends {"role": role, parts_key: parts} to `turns`, or `parts` to the last turn if it has that
// role: the results of parallel calls belong into one. Without parts there is no turn.
void AppendTurn(nlohmann::json& turns, const char* role, const char* parts_key,
                nlohmann::json parts);

// What is left of a conversation may be nothing, e.g. where a client sent only a result whose call
// is unknown. That is the client's mistake, while no provider says so clearly.
Status NothingToAnswer();

}  // namespace agent_graph::models

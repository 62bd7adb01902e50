// Conversations with alternating roles, which Anthropic and Gemini require.
#pragma once

#include "agent_graph/json_fwd.h"
#include "base/status.h"

namespace agent_graph::models {

// Appends {"role": role, parts_key: parts} to `turns`, or `parts` to the last turn if it has the
// same role: the results of parallel calls must be in one turn. Does nothing if `parts` is empty.
void AppendTurn(json& turns, const char* role, const char* parts_key, json parts);

// The failure for a request without any turn, e.g. if the client sent only a result whose call is
// unknown. Reported here because providers do not explain it clearly.
Status NothingToAnswer();

}  // namespace agent_graph::models

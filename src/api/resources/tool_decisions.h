// Decisions of a client about tool calls that may have taken effect before their worker died.
#pragma once

#include <optional>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "api/http/context.h"
#include "api/http/validation.h"
#include "run/run_request.h"

namespace agent_graph::api {

// Reads `tool_decisions` of a checked body; adds what the table of fields cannot check to
// `problems`.
std::vector<run::ToolDecision> ReadToolDecisions(const json& body, Problems& problems);

// Returns an error with the path of a decision for which no call of the thread waits. While a run
// is in flight only the start of the next one can decide.
std::optional<ErrorInfo> CheckToolDecisions(HandlerContext& context,
                                            const run::RunRequest& request);

}  // namespace agent_graph::api

// Parser for JSON files that people write. A duplicate key is an error there, not a choice.
#pragma once

#include <string_view>

#include "agent_graph/json_fwd.h"
#include "base/status.h"

namespace agent_graph {

// Like ParseJson, but a duplicate key in an object is also an error. The message contains its path:
// "limits.runs_max: is there twice". The detail of a failure is its position, "3:14" (see
// FileProblem).
Result<json> ParseConfigurationJson(std::string_view text);

}  // namespace agent_graph

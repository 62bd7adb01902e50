// JSON of files that people write: what is there twice is a mistake, not a choice.
#pragma once

#include <string_view>

#include "agent_graph/json_fwd.h"
#include "base/status.h"

namespace agent_graph {

// Like ParseJson; a key that an object has twice is an error, too, which names its path:
// "limits.runs_max: is there twice". The detail of a failure is its place, "3:14" (see
// FileProblem).
Result<json> ParseConfigurationJson(std::string_view text);

}  // namespace agent_graph

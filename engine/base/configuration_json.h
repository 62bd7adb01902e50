// JSON of files that people write: what is there twice is a mistake, not a choice.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/status.h"

namespace agent_graph {

// Like ParseJson; a key that an object has twice is an error, too, which names its path:
// "limits.runs_max: is there twice". The detail of a failure is its place, "3:14" (see
// FileProblem).
Result<nlohmann::json> ParseConfigurationJson(std::string_view text);

}  // namespace agent_graph

// The `data` of an error chunk.
#pragma once

#include <string>

#include "run/run_sink.h"

namespace agent_graph::api {

// Returns the data for a kError event, with the same code as the error response of a request that
// is not streamed.
std::string ErrorData(const run::RunEvent& event);

}  // namespace agent_graph::api

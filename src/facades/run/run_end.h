// How a run has ended, as the readers of the façades need it.
#pragma once

#include <optional>

#include "api/http/errors.h"
#include "api/stream/run_reader.h"

namespace agent_graph::facades {

// Returns the error of a run that has failed without RunReader::OnError, or whose events end before
// it has ended: its answer is not complete, whatever its outcome.
std::optional<api::ErrorInfo> FailureOf(const api::RunEnd& end);

}  // namespace agent_graph::facades

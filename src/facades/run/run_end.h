// How a run has ended, as the readers of the façades need it.
#pragma once

#include <optional>
#include <string_view>

#include "api/http/errors.h"
#include "api/stream/run_reader.h"

namespace agent_graph::facades {

// Returns the error of a run that has failed without RunReader::OnError, or whose events end before
// it has ended: its answer is not complete, whatever its outcome.
std::optional<api::ErrorInfo> FailureOf(const api::RunEnd& end);

// True for the interrupt of a run, as RunEnd has it, that only waits for results of the client's
// tools: the calls in the answer tell the client.
bool WaitsForTools(std::string_view interrupt_json);

}  // namespace agent_graph::facades

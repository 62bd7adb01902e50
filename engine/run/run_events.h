// Builds the events of a run as the sink receives them.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "run/run_sink.h"

namespace agent_graph::run {

RunEvent MessageEvent(std::string message_json, std::string node, int step);
RunEvent DeltaEvent(const RunDelta& delta);
// `updates` event after a node, with the state.
RunEvent NodeEvent(std::string state_json, std::string node, int step, int steps_max);
// The error that ends the run.
RunEvent ErrorEvent(const Status& error, std::string node, int step);

}  // namespace agent_graph::run

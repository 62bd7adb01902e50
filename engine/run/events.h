// The events of a run, in the form the sink gets them.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "run/runner.h"

namespace agent_graph::run {

RunEvent MessageEvent(std::string message_json, std::string node, int step);
RunEvent DeltaEvent(const RunDelta& delta);
// A node has run: `updates` with the state after it.
RunEvent NodeEvent(std::string state_json, std::string node, int step, int steps_max);
// The failure that ends the run.
RunEvent ErrorEvent(const Status& error, std::string node, int step);

// {"code":"MODEL","reason":"…","node":…,"step":…}: the log's entry.
std::string ErrorJson(const Status& error, std::string_view node, int64_t step);

}  // namespace agent_graph::run

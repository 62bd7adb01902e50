// Executes a tool node: the calls of the newest assistant message that have no result yet.
#pragma once

#include <string>

#include "agent_graph/node.h"
#include "base/status.h"
#include "run/open_inputs.h"
#include "run/run_environment.h"
#include "run/run_log.h"

namespace agent_graph::run {

inline constexpr size_t kToolCallsMax = 128;            // of one message; more are refused
inline constexpr size_t kToolCallsAtOnce = 64;          // run concurrently
inline constexpr size_t kToolOutputBytesMax = 1 << 20;  // of one result

// One tool message for each call, in the order of the calls, however they finish. A tool that
// fails, is unknown or runs out of time gives a failed result, not a failed run, and so do
// arguments that do not fit the tool's schema; only the log can fail. Intents are on disk before a
// tool that is not idempotent starts. Calls of remote tools are handed to the client, and calls may
// ask the user: the result then pauses the run, which resumes at this node. `inputs` are the calls
// that have asked, with the answers so far; they are replaced by those that ask now. Null: no call
// can ask.
Result<NodeResult> RunToolNode(const RunEnvironmentPtr& environment, const std::string& name,
                               const State& state, int64_t step, RunLog& log,
                               OpenInputs* inputs = nullptr);

}  // namespace agent_graph::run

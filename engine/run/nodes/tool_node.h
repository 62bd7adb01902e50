// Executes a tool node: the calls of the newest assistant message that have no result yet.
#pragma once

#include <string>

#include "agent_graph/node.h"
#include "base/status.h"
#include "graph/definition.h"
#include "run/call_memory.h"
#include "run/context/lost_calls.h"
#include "run/context/open_inputs.h"
#include "run/log/run_log.h"
#include "run/nodes/node_runner.h"
#include "run/run_environment.h"

namespace agent_graph::run {

inline constexpr size_t kToolCallsMax = 128;            // per message; further calls are refused
inline constexpr size_t kToolCallsAtOnce = 64;          // maximum number of concurrent calls
inline constexpr size_t kToolOutputBytesMax = 1 << 20;  // per result

struct ToolNodeOptions {
  // The calls that have asked, with the answers so far; they are replaced by the calls that ask
  // now. Null: no call can ask.
  OpenInputs* inputs = nullptr;
  const LostCalls* earlier = nullptr;  // calls of the attempts before; null: this is the first one
  // Counts the memory of the calls, and lets large replies wait for it. Null: they are not counted.
  CallMemory* memory = nullptr;
};

// Returns one tool message per call, in the order of the calls. A tool that fails, is unknown or
// times out gives a failed result and not a failed run; so do arguments that do not match the
// tool's schema. Only the log can fail. Intents are durable before a tool that is not idempotent
// starts.
//
// Calls of remote tools are handed to the client, and other calls may ask the user. In both cases
// the result pauses the run, which resumes at this node.
Result<NodeResult> RunToolNode(const RunEnvironmentPtr& environment, const std::string& name,
                               const State& state, int64_t step, RunLog& log,
                               const ToolNodeOptions& options = {});

const NodeRunner& RunnerFor(const graph::ToolNode& kind);

}  // namespace agent_graph::run

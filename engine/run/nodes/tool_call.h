// One call of a tool node, from the model's message to its result.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "agent_graph/json.h"
#include "agent_graph/message.h"
#include "agent_graph/tool.h"
#include "run/context/open_inputs.h"
#include "run/log/log_entry.h"
#include "run/nodes/user_context.h"
#include "run/run_environment.h"
#include "tools/call/call_input.h"

namespace agent_graph::run {

// Everything that the call accesses. Shared, so that an abandoned tool may outlive its run.
struct PendingCall {
  RunEnvironmentPtr environment;
  std::shared_ptr<const Tool> tool;  // null: refused; `result` has the reason
  bool remote = false;               // executed by the client; there is no result yet
  bool handed_out = false;           // the client has received it
  bool end_is_logged = false;        // by an earlier attempt of the run
  ToolCallBlock block;
  std::string idempotency_key;
  json arguments;
  std::unique_ptr<CallContext> context;
  ToolOutput output;  // output of the tool; valid once it has returned

  std::optional<tools::CallInput> input;  // nullopt: the call cannot ask the user
  int rounds = 0;                         // number of earlier pauses of this call
  // The call's questions; if set there is no result yet.
  std::optional<OpenInput> asks;

  ToolOutput result;  // sent to the model; written by the run's fibers only
  int64_t started_micros = 0;
  int64_t finished_micros = 0;
};

using PendingCallPtr = std::shared_ptr<PendingCall>;

// Returns the key of the call at `index` of a message. It identifies a position in the thread, so
// the same call has it again after a crash.
std::string IdempotencyKey(const std::string& thread_id, const std::string& message_id,
                           size_t index);

// Returns a failed result for the model.
ToolOutput Failure(const std::string& text);

// The log entries of a call of node `node`.
entry::ToolIntent IntentEntry(const std::string& node, const PendingCall& call);
entry::ToolStarted StartedEntry(const std::string& node, const PendingCall& call);
entry::ToolFinished FinishedEntry(const std::string& node, const PendingCall& call,
                                  bool with_output);
entry::ToolPaused PausedEntry(const std::string& node, const PendingCall& call);

Message ResultMessage(const PendingCall& call);
// Returns the message that hands the call to the client, which executes it.
Message RemoteCallMessage(const PendingCall& call);

}  // namespace agent_graph::run

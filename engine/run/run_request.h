// The parameters of a run.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "agent_graph/message.h"
#include "base/clock.h"
#include "state/requests.h"
#include "state/types.h"

namespace agent_graph::models {
struct CallOptions;
}

namespace agent_graph::run {

class HandOver;

// Behaviour of a run on a thread that has a run in flight.
enum class BusyPolicy : uint8_t {
  kEnqueue,    // it waits for its turn
  kReject,     // it does not start
  kInterrupt,  // it stops the run in flight and is the next one
};

// The client's decision about a tool call that may have taken effect.
struct ToolDecision {
  enum class Action : uint8_t {
    kRetry,   // the tool is called again
    kSkip,    // the model gets a failed result
    kResult,  // the model gets `result_json`
  };
  std::string call_id;
  Action action = Action::kSkip;
  std::string result_json;  // for kResult
};

// A run that the state has accepted and granted to this worker.
struct AcceptedRun {
  uint32_t attempt = 1;
  // The node that the previous attempt had reached; empty: nothing of the run is stored.
  std::string current_node;
  int64_t step = 0;
  std::shared_ptr<HandOver> hand_over;  // never null
  uint64_t lease_epoch = 0;             // epoch of the grant; 0: not known

  // True if a part of the run is stored, which this attempt does not repeat.
  bool continues() const { return !current_node.empty(); }
};

// A tool that the client of a run executes.
struct ClientTool {
  std::string name;
  std::string description;
  std::string parameters_json;  // JSON Schema
};

struct RunRequest {
  state::Scope scope;
  std::string user_id;
  std::shared_ptr<const json> user;    // object: every claim, with the stamped authz; null: none
  std::string thread_id;               // empty: generated
  std::string run_id;                  // empty: generated
  std::vector<Message> messages;       // all appended, the last one is the input
  std::shared_ptr<const json> config;  // object: the client's config; null: empty
  std::vector<ToolDecision> tool_decisions;  // for calls that wait for one
  // inserted before `messages`, except for those that the thread already has
  std::vector<Message> initial_context;
  std::shared_ptr<const json> initial_state;  // object: sets fields and the summary; null: none
  // The tools of this run's client, which replace all remote tools of the service. nullopt: the
  // service's tools are used.
  std::optional<std::vector<ClientTool>> client_tools;
  // JSON that the route keeps in the log of its run; empty: none.
  std::string note_json;
  // True: pieces of an accepted run's messages are logged, so that all readers, at any time, get
  // the same ones.
  bool log_pieces = false;
  // Changes that the request makes to the calls of the models; null: none.
  std::shared_ptr<const models::CallOptions> call_options;
  // The run is not stored, as without a checkpointer; it has no thread and is not accepted.
  bool transient = false;
  int recursion_limit = 25;
  Deadline deadline = kNoDeadline;
  // After this time the caller cancels the run; zero: it does not.
  std::chrono::milliseconds cancelled_after{0};
  std::optional<AcceptedRun> accepted;  // nullopt: the run of a connected client
  std::optional<BusyPolicy> on_busy;    // nullopt: as configured
  std::string action;        // action that the caller needed permission for, such as "invoke"
  std::string trace_parent;  // W3C traceparent of the request, for exported traces; may be empty
};

// Sets what `begin` does on a busy thread.
inline void SetBusyPolicy(const RunRequest& request, bool enqueue_by_default,
                          state::BeginRunRequest& begin) {
  const BusyPolicy policy =
      request.on_busy.value_or(enqueue_by_default ? BusyPolicy::kEnqueue : BusyPolicy::kReject);
  begin.enqueue_if_busy = policy != BusyPolicy::kReject;
  begin.interrupt_if_busy = policy == BusyPolicy::kInterrupt;
}

}  // namespace agent_graph::run

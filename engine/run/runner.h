// One run: lease → load → loop over nodes → append to the log → snapshot → release.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/message.h"
#include "agent_graph/run_context.h"
#include "base/clock.h"
#include "base/id_generator.h"
#include "base/status.h"
#include "run/run_record.h"
#include "runtime/cancellation.h"
#include "state/types.h"

namespace agent_graph::graph {
class CompiledGraph;
}
namespace agent_graph::state {
class Service;
}
namespace agent_graph::runtime {
class Runtime;
}
namespace agent_graph::models {
class ModelProvider;
}
namespace agent_graph::tools {
class Catalog;
}
namespace agent_graph::memory {
class MemoryStore;
}

namespace agent_graph::run {

class RemoteTools;
struct RunEnvironment;

// Limit on what a run may hold of its thread, in bytes of JSON: window, state and what nodes add.
inline constexpr size_t kRunBytesMax = 64 * 1024 * 1024;

// The parameters of one run.
struct RunRequest {
  state::Scope scope;
  std::string user_id;
  std::string user_json = "{}";    // config.user: every claim, with the stamped authz
  std::string thread_id;           // empty: generated
  std::string run_id;              // empty: generated
  std::vector<Message> messages;   // all appended, the last one is the input
  std::string config_json = "{}";  // the client's config without reserved keys
  // inserted before `messages`, except for those that the thread already has
  std::vector<Message> initial_context;
  std::optional<std::string> initial_state_json;  // sets fields and the summary
  int recursion_limit = 25;
  Deadline deadline = kNoDeadline;
  // After this time the caller cancels the run; zero: it does not.
  std::chrono::milliseconds cancelled_after{0};
  std::string trace_parent;  // W3C traceparent of the request, for exported traces; may be empty
};

// An event of a run. Parts that go on the wire are JSON already. The sink decides what each
// granularity shows; the log does not depend on it.
struct RunEvent {
  enum class Kind { kMessageDelta, kMessage, kUpdate, kState, kError };
  Kind kind = Kind::kMessage;
  std::string message_json;  // kMessageDelta, kMessage: the message object
  std::string state_json;    // kUpdate, kState: the AgentState after a node
  std::string data_json;     // kUpdate: the data object ("" = null)
  Status error;              // kError: the error that ends the run; its text is sent to the client
  std::string node;          // the node that caused it; may be empty
  int step = 0;
};

// A piece of a message as the model produces it. The views are valid during the call only.
struct RunDelta {
  std::string_view message_id;
  std::string_view text;
  std::string_view reasoning;
  std::string_view node;  // the node that called the model
  int step = 0;
};

// Known before the first node is executed.
struct RunStart {
  std::string thread_id;
  std::string run_id;
  bool is_new_thread = false;
  std::string thread_name;
};

// Receives a run's events. Calls never overlap. They are made on the run's fiber, with one
// exception: what a user function streams arrives on the function's thread, or on the fiber of a
// model call that it makes, while the run's fiber waits. Each call may suspend. A failed Status
// cancels the run.
class RunSink {
 public:
  virtual ~RunSink() = default;
  virtual Status OnStart(const RunStart& start) = 0;  // after this call, errors are sent as events
  virtual Status OnEvent(const RunEvent& event) = 0;
  // By far the most frequent call. The default implementation converts it to an event.
  virtual Status OnDelta(const RunDelta& delta);
  // Reports how many bytes of JSON the run holds of its thread, and of a reply that a model is
  // still sending. Called whenever the numbers change.
  virtual void OnHeld(uint64_t /*thread_bytes*/, uint64_t /*reply_bytes*/) {}
  // False: deltas and state snapshots are not needed (invoke).
  virtual bool wants_deltas() const = 0;
  virtual bool wants_states() const = 0;
  // False: RunOutcome::state_json is not needed and is left empty.
  virtual bool wants_final_state() const { return true; }
};

// The result of a run that has started.
struct RunOutcome {
  RunStart start;
  std::string status;                      // done | error | stopped | interrupted
  Status error;                            // set if status is error; also sent as a kError event
  std::vector<std::string> messages_json;  // the working window after the run, oldest first
  std::string state_json;                  // AgentState
  std::optional<std::string> summary;
};

// Returns the AgentState object (`context`, `context_summary`, `execution_meta`, custom fields) as
// returned by invoke, streams and GET …/state.
std::string AgentStateJson(const state::ThreadState& state);

// Returns the provider of a configured model; null if there is none with that name. A provider
// outlives every run. Thread-safe.
using ModelLookup = std::function<models::ModelProvider*(const std::string& name)>;
// Generates the name of a new thread from the texts of its first run. May block and throw.
using ThreadNamer = std::function<std::string(const std::vector<std::string>& texts)>;
// Writes a line to the operator's log. Called from any thread.
using LogFunction = std::function<void(LogLevel level, const std::string& line)>;

struct RunEnvironment;
// Adds the contents of referenced files to the messages that a model receives. Call on a fiber,
// which may be suspended. Keep the returned object until the model call has ended.
using FileShower = std::function<Result<std::shared_ptr<void>>(const RunEnvironment& environment,
                                                               std::vector<Message>& messages)>;

// Thread-safe: one instance serves all fibers of a worker. Execute and Begin suspend the calling
// fiber.
class Runner {
 public:
  struct Options {
    std::optional<uint64_t> window_max = 100;
    bool enqueue_if_busy = true;
    uint32_t queue_max = 16;
    std::chrono::milliseconds busy_wait_max{60'000};
    ModelLookup find_model;                   // required by graphs that call a model
    memory::MemoryStore* memories = nullptr;  // for functions and tools; null: none
    tools::Catalog* catalog = nullptr;  // the graph's HTTP tools and MCP servers; must outlive runs
    RemoteTools* remote_tools = nullptr;  // must outlive runs
    FileShower show_files;  // may be empty: models then receive only the names of files
    LogFunction log;        // may be empty
    std::shared_ptr<const IdGenerator> ids;  // null: UUIDs
    ThreadNamer name_thread;                 // may be empty: threads then have no names
    RunListener on_finished;                 // may be empty
    // Send the texts of user code's exceptions to the client, and not only to the log.
    bool show_exception_text = true;
    size_t run_bytes_max = kRunBytesMax;
  };

  // `state` may be null: without a checkpointer each run starts empty and stores nothing.
  Runner(std::shared_ptr<const graph::CompiledGraph> graph, state::Service* state,
         runtime::Runtime& runtime, Options options);

  // Executes a run to its end on the calling fiber. Moves the messages out of `request`, so that
  // there is only one copy. A failed Result means that the run never started and nothing was
  // written: invalid request, a tool result for which no call waits, no permission, thread busy.
  // Errors after OnStart are in the outcome.
  Result<RunOutcome> Execute(RunRequest request, const runtime::Cancellation& cancellation,
                             RunSink& sink);

  // Begins a run that does not execute the graph, such as a live session. Takes the thread's lease
  // and returns the thread's state and the environment for its tools. The caller writes the log and
  // finishes the run.
  struct BegunRun {
    std::shared_ptr<const RunEnvironment> environment;
    state::BeginRunReply reply;
  };
  Result<BegunRun> Begin(const RunRequest& request, const runtime::Cancellation& cancellation);

 private:
  struct Opening;

  Result<std::unique_ptr<Opening>> Open(RunRequest& request,
                                        const runtime::Cancellation& cancellation);
  Status CheckResults(const RunRequest& request) const;
  template <typename Work>
  auto WhileLeased(const BegunRun& begun, Work work) -> decltype(work());
  Result<std::shared_ptr<RunEnvironment>> MakeEnvironment(
      const RunRequest& request, const runtime::Cancellation& cancellation) const;
  Result<state::BeginRunReply> Lease(const RunRequest& request, RunEnvironment& environment,
                                     const runtime::Cancellation& cancellation);

  std::shared_ptr<const graph::CompiledGraph> graph_;
  state::Service* state_;
  runtime::Runtime& runtime_;
  Options options_;
};

}  // namespace agent_graph::run

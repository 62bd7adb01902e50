// One run: lease → load → loop over nodes → append what happened → snapshot → release.
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

// What one run may hold of its thread: window, state and what nodes add to them, as JSON.
inline constexpr size_t kRunBytesMax = 64 * 1024 * 1024;

struct RunRequest {
  state::Scope scope;
  std::string user_id;
  std::string user_json = "{}";          // config.user, every claim, with the stamped authz
  std::string thread_id;                 // empty: generated
  std::string run_id;                    // empty: generated
  std::vector<Message> messages;         // all appended, the last one is the input
  std::string config_json = "{}";        // the client's config minus reserved keys
  std::vector<Message> initial_context;  // put before them, but for those the thread has already
  std::optional<std::string> initial_state_json;  // sets fields and the summary
  int recursion_limit = 25;
  Deadline deadline = kNoDeadline;
  // After this long somebody else ends the run, by its cancellation; zero: nobody does.
  std::chrono::milliseconds cancelled_after{0};
  std::string trace_parent;  // W3C traceparent of the request, for exported traces; may be empty
};

// A run's events as they happen, already JSON where they go on the wire. The sink decides what a
// granularity shows; the log never depends on it.
struct RunEvent {
  enum class Kind { kMessageDelta, kMessage, kUpdate, kState, kError };
  Kind kind = Kind::kMessage;
  std::string message_json;  // kMessageDelta, kMessage: the message object
  std::string state_json;    // kUpdate, kState: the AgentState after a node
  std::string data_json;     // kUpdate: the data object ("" = null)
  Status error;              // kError: what ends the run; its text is for the client
  std::string node;          // node that caused it, may be empty
  int step = 0;
};

// A piece of a message as the model produces it. What it refers to lives for the call only.
struct RunDelta {
  std::string_view message_id;
  std::string_view text;
  std::string_view reasoning;
  std::string_view node;  // that asked the model
  int step = 0;
};

// Known before the first node runs.
struct RunStart {
  std::string thread_id;
  std::string run_id;
  bool is_new_thread = false;
  std::string thread_name;
};

// Receives a run's progress. Calls never overlap; they come on the run's fiber, except what a user
// function streams: that comes on the function's thread, or on the fiber of a model call it makes,
// while the run's fiber waits. Any call may suspend. A failed Status cancels the run.
class RunSink {
 public:
  virtual ~RunSink() = default;
  virtual Status OnStart(const RunStart& start) = 0;  // after this, failures are error events
  virtual Status OnEvent(const RunEvent& event) = 0;
  // By far the most frequent call. Without an own implementation it becomes an event.
  virtual Status OnDelta(const RunDelta& delta);
  // The run holds so many bytes of its thread, as JSON, and of a reply that a model is still
  // sending. Called when that changes.
  virtual void OnHeld(uint64_t /*thread_bytes*/, uint64_t /*reply_bytes*/) {}
  // False: deltas and state snapshots need not be produced (invoke).
  virtual bool wants_deltas() const = 0;
  virtual bool wants_states() const = 0;
  // False: nobody reads RunOutcome::state_json, which is left empty.
  virtual bool wants_final_state() const { return true; }
};

struct RunOutcome {
  RunStart start;
  std::string status;                      // done | error | stopped | interrupted
  Status error;                            // when status is error; a kError event told it, too
  std::vector<std::string> messages_json;  // the working window after the run, oldest first
  std::string state_json;                  // AgentState
  std::optional<std::string> summary;
};

// The union shape of AgentState (`context`, `context_summary`, `execution_meta`, custom fields) as
// served by invoke, streams and GET …/state.
std::string AgentStateJson(const state::ThreadState& state);

// The provider of a model the service configures; null: there is none of that name. A provider
// outlives every run.
using ModelLookup = std::function<models::ModelProvider*(const std::string& name)>;
// Makes the name of a new thread out of the texts of its first run. May block and throw.
using ThreadNamer = std::function<std::string(const std::vector<std::string>& texts)>;
// A line for the operator's log. Called from any thread.
using LogFunction = std::function<void(LogLevel level, const std::string& line)>;

struct RunEnvironment;
// Puts the bytes of files that messages refer to into what a model is sent. On a fiber. What it
// returns is kept while the model is asked.
using FileShower = std::function<Result<std::shared_ptr<void>>(const RunEnvironment& environment,
                                                               std::vector<Message>& messages)>;

// Thread-safe: one instance serves all fibers of a worker.
class Runner {
 public:
  struct Options {
    std::optional<uint64_t> window_max = 100;
    bool enqueue_if_busy = true;
    uint32_t queue_max = 16;
    std::chrono::milliseconds busy_wait_max{60'000};
    ModelLookup find_model;                   // required by graphs that ask a model
    memory::MemoryStore* memories = nullptr;  // of functions and tools; null: there is none
    tools::Catalog* catalog = nullptr;  // of the graph's HTTP tools and MCP servers; outlives runs
    RemoteTools* remote_tools = nullptr;  // outlives runs
    FileShower show_files;                // may be empty: models are told the names of files only
    LogFunction log;                      // may be empty
    std::shared_ptr<const IdGenerator> ids;  // null: UUIDs
    ThreadNamer name_thread;                 // may be empty: threads have no names
    RunListener on_finished;                 // may be empty
    // What a user's exception says goes to the client, not only to the log.
    bool show_exception_text = true;
    size_t run_bytes_max = kRunBytesMax;
  };

  // `state` may be null: no checkpointer, each run starts empty and nothing is kept.
  Runner(std::shared_ptr<const graph::CompiledGraph> graph, state::Service* state,
         runtime::Runtime& runtime, Options options);

  // Runs on the calling fiber to the end; takes the messages out of `request`, which are kept once
  // this way. A failed Result means the run never started (nothing was written): validation, a tool
  // result that no call waits for, permission, busy. After OnStart failures are in the outcome.
  Result<RunOutcome> Execute(RunRequest request, const runtime::Cancellation& cancellation,
                             RunSink& sink);

  // A run that is no walk through the graph, such as a live session: the thread's lease with what
  // the thread holds, and what its tools need. The caller writes the log and finishes the run.
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

// One run: lease → load → loop over nodes → append to the log → snapshot → release.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/message.h"
#include "agent_graph/tool.h"
#include "base/id_generator.h"
#include "base/status.h"
#include "run/call_memory.h"
#include "run/context/open_inputs.h"
#include "run/run_environment.h"
#include "run/run_request.h"
#include "run/run_sink.h"
#include "runtime/cancellation.h"
#include "state/requests.h"
#include "state/types.h"

namespace agent_graph::graph {
class CompiledGraph;
}
namespace agent_graph::state {
class Service;
}

namespace agent_graph::run {

class RemoteTools;
class RunLoop;

// The end of a call of one tool.
struct CalledTool {
  ToolOutput output;
  OpenInputs inputs;  // not empty: the tool asks, and there is no output yet
};

// Thread-safe: one instance serves all fibers of a worker. Execute and Begin suspend the calling
// fiber.
class Runner {
 public:
  struct Options {
    std::optional<uint64_t> window_max = 100;
    bool enqueue_if_busy = true;
    uint32_t queue_max = 16;
    std::chrono::milliseconds busy_wait_max{60'000};
    RemoteTools* remote_tools = nullptr;  // must outlive runs
    RunServices services;
  };

  // `state` may be null: without a checkpointer each run starts empty and stores nothing.
  Runner(std::shared_ptr<const graph::CompiledGraph> graph, state::Service* state,
         runtime::Runtime& runtime, Options options);

  // Executes a run to its end on the calling fiber. Moves the messages out of `request`, so that
  // there is only one copy. A failed Result means that the run never started and nothing was
  // written: invalid request, a tool result for which no call waits, no permission, thread busy.
  // Errors after OnStart are in the outcome.
  Result<RunOutcome> Execute(RunRequest&& request, const runtime::Cancellation& cancellation,
                             RunSink& sink);

  // Begins a run that does not execute the graph, such as a live session. Takes the thread's lease
  // and returns the thread's state and the environment for its tools. The caller writes the log and
  // finishes the run.
  struct BegunRun {
    std::shared_ptr<const RunEnvironment> environment;
    state::BeginRunReply reply;
  };
  // A large state is loaded after `await_memory`, which waits for memory of so many bytes of JSON.
  using AwaitMemory = std::function<Status(uint64_t bytes)>;
  Result<BegunRun> Begin(const RunRequest& request, const runtime::Cancellation& cancellation,
                         const AwaitMemory& await_memory);

  // Calls a tool of the tool node `node` without the graph. The tool gets the same context as in a
  // run with the parameters of `request`, but nothing is stored, and there is no thread. `inputs`:
  // earlier questions of the same call, with the answers. A tool that fails has a failed output.
  // `memory` counts its reply.
  Result<CalledTool> CallTool(const RunRequest& request, const std::string& node,
                              ToolCallBlock block, OpenInputs inputs,
                              const runtime::Cancellation& cancellation, CallMemory& memory) const;

  // Ends an accepted run as failed without executing it. `reason` is for its record; empty: that of
  // the failure.
  Status EndUnexecuted(const RunRequest& request, const runtime::Cancellation& cancellation,
                       const Status& failure, std::string reason = {});

 private:
  // EndUnexecuted for a run whose thread cannot be read.
  Status EndUnread(const RunRequest& request, const runtime::Cancellation& cancellation,
                   const Status& failure, std::string reason = {});
  // A larger thread is loaded in a second call, once there is memory for it.
  static constexpr uint64_t kReplyBytesMax = 64 * 1024;
  struct Opening;

  Result<std::unique_ptr<Opening>> Open(RunRequest& request,
                                        const runtime::Cancellation& cancellation, RunSink& sink);
  // Fills in `begun`. A larger state is omitted, and the messages of `known_window`.
  Status BeginUpTo(uint64_t reply_bytes_max, const RunRequest& request,
                   const runtime::Cancellation& cancellation, BegunRun& begun,
                   const std::optional<state::KnownWindow>& known_window = {});
  // Each of these abandons the run if it fails (state_loading.cc).
  Status LoadOmitted(const RunRequest& request, BegunRun& begun, const AwaitMemory& await_memory);
  // Completes the state with the window that this worker has kept, and returns its messages; loads
  // the state if the window is gone.
  Status TakeKeptWindow(const RunRequest& request, BegunRun& begun, std::vector<Message>& messages,
                        const AwaitMemory& await_memory);
  // Loads the state unless it is larger than a reply to BeginRun.
  Status LoadUpTo(const RunRequest& request, BegunRun& begun);
  Status AbandonUnloaded(const RunRequest& request, const BegunRun& begun, Status failure);
  std::optional<state::KnownWindow> KnownWindowOf(const RunRequest& request) const;
  Status CheckRequest(const RunRequest& request, Opening& opening) const;
  Status CheckResults(const RunRequest& request) const;
  Status TakeResults(RunRequest& request, Opening& opening) const;
  Status TakeDecisions(const RunRequest& request, Opening& opening) const;
  static void RemoveLoaded(RunRequest& request, const state::ThreadState& thread);
  template <typename Work>
  auto WhileLeased(const RunRequest& request, const BegunRun& begun, Work work) -> decltype(work());
  // `fault`: the text of the exception that the work threw.
  Status FailLeased(const RunRequest& request, const BegunRun& begun, std::string fault) const;
  // An opening and a loop are on the heap: a fiber keeps every page of its stack that it has
  // touched, and most of a run's time is spent waiting for a model.
  std::unique_ptr<RunLoop> MakeLoop(RunRequest& request, Opening& opening, RunSink& sink) const;
  void Abandon(const RunRequest& request, const BegunRun& begun, const Status& failure) const;
  // Ends the run in the state.
  Status StoreFailure(const RunRequest& request, const BegunRun& begun, const Status& failure,
                      RunStatus status, std::string reason) const;
  // Null if nothing of the run is stored.
  state::Service* StateFor(const RunRequest& request) const {
    return request.transient ? nullptr : state_;
  }
  Result<std::shared_ptr<RunEnvironment>> MakeEnvironment(
      const RunRequest& request, const runtime::Cancellation& cancellation) const;
  Result<state::BeginRunReply> Lease(const RunRequest& request, RunEnvironment& environment,
                                     const runtime::Cancellation& cancellation,
                                     std::optional<uint64_t> reply_bytes_max,
                                     const std::optional<state::KnownWindow>& known_window);

  std::shared_ptr<const graph::CompiledGraph> graph_;
  state::Service* state_;
  runtime::Runtime& runtime_;
  const Options options_;
  const std::shared_ptr<const RunServices> services_;
};

}  // namespace agent_graph::run

// The loop over a graph's nodes, from a loaded thread to its snapshot.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "run/emitter.h"
#include "run/execution_meta.h"
#include "run/initial_state.h"
#include "run/open_inputs.h"
#include "run/repeated_messages.h"
#include "run/run_environment.h"
#include "run/run_log.h"
#include "run/runner.h"
#include "run/working_thread.h"
#include "runtime/cancellation.h"
#include "state/types.h"

namespace agent_graph::run {

inline constexpr size_t kMessagesPerNodeMax = 1000;

// One run, on one fiber. What a node did is appended to the log together with the place where the
// run goes next, and is emitted only after that.
class RunLoop {
 public:
  // `state` may be null. `request` outlives the loop, which takes its messages;
  // `inputs` are the calls that wait for the user, with the answers that the request brings.
  RunLoop(RunEnvironmentPtr environment, RunRequest& request, state::Service* state,
          const state::BeginRunReply& begun, OpenInputs inputs, RunSink& sink);

  // Never fails and lets no exception out before the lease is released.
  RunOutcome Execute(state::ThreadState loaded, InitialState initial);

 private:
  // How a run ends.
  struct Ending {
    enum class Kind { kDone, kError, kStopped, kInterrupted };
    Kind kind = Kind::kDone;
    Status error;
    // Of the cancellation that ended it; what is cancelled later ended nothing.
    runtime::CancelReason reason = runtime::CancelReason::kNone;
  };

  Ending Drive(state::ThreadState&& loaded, InitialState&& initial);
  // Consumes both: a run may be long, and what it works on is kept once.
  Status Prepare(state::ThreadState loaded, const InitialState& initial);
  // The request was answered before: its answer was lost, or its client asks twice.
  bool IsAnswered() const;
  // Gives that answer again. What paused the thread pauses it still.
  Ending AnswerAgain();
  Status CloseOpenCalls();
  Status AppendRequest();
  Status ChooseFirstNode();
  // Appends what is buffered and says that `next_` comes now.
  Status Arrive();
  // Executes `next_`, takes its result in and chooses the node after it.
  Status Step();
  // Again and again as the node's retry policy has it.
  Result<NodeResult> ExecuteNode(const graph::Node& node);
  Result<NodeResult> Attempt(const graph::Node& node);
  bool MayRepeat(const graph::Node& node, const Status& failure, int attempt) const;
  Status TakeIn(const std::string& node, NodeResult result);
  void CheckInterruptAfter(const std::string& node, const std::optional<Interrupt>& interrupt);
  Ending Pause(ExecutionMeta::Phase phase, std::string reason);
  bool IsCutShort() const;
  // It ended before it did anything: the thread stays as paused as it was.
  bool StaysPaused(const Ending& ending) const;
  Ending EndCancelled();
  Ending Fail(Status status);

  static const char* EndingName(Ending::Kind kind);  // "done", "error", ...
  RunOutcome Conclude(Ending ending);
  // What the graph's context policy leaves out leaves the working window.
  void ShortenWindow();
  // A new thread is called something once its first run is over.
  void NameThread();
  Status Record(const Ending& ending);
  void EmitQueued();
  // Tells the listener, if there is one, what the run did.
  void Report(const RunOutcome& outcome);

  const RunEnvironmentPtr environment_;
  const graph::CompiledGraph& graph_;
  RunRequest& request_;
  state::Service* const state_;
  RunStart start_;
  const int64_t started_micros_;
  RunLog log_;
  WorkingThread thread_;
  Emitter emitter_;

  OpenInputs inputs_;  // calls that ask the user
  ExecutionMeta meta_;
  ExecutionMeta paused_before_;  // as the thread was found; when resumed_
  std::string next_;             // node that comes next
  bool resumed_ = false;         // next_ is where a paused thread goes on
  Repetition repetition_;        // of what the request brings
  bool resume_node_gone_ = false;
  bool took_time_ = false;        // a node since the last append was not instant
  bool paused_ = false;           // meta_ holds an interrupt after the last node
  bool fenced_ = false;           // the lease is somebody else's
  std::vector<RunEvent> queued_;  // what the log does not hold yet
};

}  // namespace agent_graph::run

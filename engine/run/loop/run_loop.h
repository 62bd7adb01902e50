// Executes a graph's nodes, from the loaded thread to its snapshot.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/status.h"
#include "run/context/execution_meta.h"
#include "run/context/initial_state.h"
#include "run/context/lost_calls.h"
#include "run/context/open_inputs.h"
#include "run/context/repeated_messages.h"
#include "run/context/working_thread.h"
#include "run/log/run_log.h"
#include "run/nodes/emitter.h"
#include "run/run_environment.h"
#include "run/run_request.h"
#include "run/run_sink.h"
#include "runtime/cancellation.h"
#include "state/requests.h"
#include "state/types.h"

namespace agent_graph::run {

struct NodeRun;

inline constexpr size_t kMessagesPerNodeMax = 1000;

// Reasons that a failure's text begins with.
inline constexpr std::string_view kGraphChangedReason = "GRAPH_CHANGED";
inline constexpr std::string_view kWorkerLostReason = "worker_lost";

// The reason in the record of a run that failed: one of these, or the name of the code.
std::string ReasonOfFailure(const Status& failure);

// A thread as the state has it, and the messages of its window if they are decoded already.
struct LoadedThread {
  state::ThreadState state;
  std::vector<Message> messages;
};

// One run, on one fiber. The result of a node is appended to the log together with the next node's
// name, and emitted only after that.
class RunLoop {
 public:
  // `state` may be null. `request` must outlive the loop, which moves its messages out; `inputs`
  // are the calls that wait for the user, with the answers in the request.
  RunLoop(RunEnvironmentPtr environment, RunRequest& request, state::Service* state,
          const state::BeginRunReply& begun, OpenInputs inputs, RunSink& sink);

  // Never fails. No exception escapes before the lease is released. Consumes its arguments.
  // `window` has the messages of the thread's window if they are decoded already.
  Result<RunOutcome> Execute(state::ThreadState&& loaded, std::vector<Message>&& window,
                             InitialState&& initial);

 private:
  // How a run ends.
  struct Ending {
    RunStatus status = RunStatus::kDone;
    Status error = {};
    // Reason of the cancellation that ended the run; later cancellations have no effect.
    runtime::CancelReason reason = runtime::CancelReason::kNone;
    // True: the run does not end, because another worker continues it. If `error` is set, the log
    // may lack the latest entries.
    bool leaves = false;
  };

  static RunStart StartOf(const RunEnvironment& environment, const RunRequest& request,
                          const state::BeginRunReply& begun);
  // The functions that a node waits in have small stack frames: a fiber keeps every page of its
  // stack that it has touched. Everything else has functions of its own that are not inlined.
  Ending Drive(state::ThreadState&& loaded, std::vector<Message>&& window, InitialState&& initial);
  // Loads the thread, and ends the run if there is nothing to execute.
  std::optional<Ending> Open(state::ThreadState&& loaded, std::vector<Message>&& window,
                             InitialState&& initial);
  // Consumes `loaded`, so that a long run keeps only one copy of its data.
  Status Prepare(LoadedThread&& loaded, const InitialState& initial);
  // Prepare for a further attempt of a run, of which a part is stored.
  Status Continue(LoadedThread&& loaded);
  Status LoadThread(LoadedThread&& loaded);
  using MessageIdSet = std::unordered_set<std::string>;
  // Counts what earlier attempts have used, and finds out about their tool calls. Returns the ids
  // of the request's messages that they have added.
  Result<MessageIdSet> ReadEarlierAttempts();
  Status CheckLostNode();
  Status CheckFieldsOf(const std::string& graph_hash) const;
  void EstimateLostCall(const graph::Node& node);
  Status CheckResumeNode();
  // True if the request was answered before: the response was lost, or the client repeats it.
  bool IsAnswered() const;
  // Emits that answer again. If it paused the thread, the thread stays paused.
  Ending AnswerAgain();
  Status CloseOpenCalls();
  Status AppendRequest();
  Status AppendMissing(const MessageIdSet& added);
  Result<bool> IsInHistory(const std::string& message_id) const;
  Status ChooseFirstNode();
  // Ends the run before `next_`, if there is a reason; otherwise arrives there.
  std::optional<Ending> BeforeNode();
  std::optional<Ending> EndBeforeNode();
  // Appends what is buffered, with `next_` as the next node.
  Status Arrive();
  // Executes `next_`, applies its result and selects the next node.
  Status Step();
  NodeRun Start(const graph::Node& node);
  // Ends the run after a step, if there is a reason.
  std::optional<Ending> AfterStep(Status status);
  Status EndStep(const graph::Node& node, NodeResult&& result);
  Status TakeIn(const std::string& node, NodeResult result);
  // Reports what the run holds of its thread and of its request.
  void HoldThread() { emitter_.HoldThread(thread_.weight() + weight_beside_messages_); }
  void CheckInterruptAfter(const std::string& node, const std::optional<Interrupt>& interrupt);
  Ending Pause(ExecutionMeta::Phase phase, std::string reason);
  bool IsCutShort() const;
  bool InterruptsBeforeNext() const;
  bool MustLeave() const;
  // True if the run ended before it did anything: the thread then stays paused as before.
  bool StaysPaused(const Ending& ending) const;
  Ending EndCancelled();
  Ending FailAtDeadline();
  Ending FailUnexpectedly(const char* what);
  Ending Fail(Status status);
  Ending EndWithError(Status status);

  Result<RunOutcome> Conclude(Ending ending);
  // The outcome without its start and error.
  RunOutcome OutcomeOf(const Ending& ending) const;
  // Leaves the window in this worker for the next run of the thread.
  void KeepWindow();
  // Gives the run back for another worker.
  RunOutcome Leave(const Ending& ending);
  // Removes from the working window what the graph's context policy leaves out.
  void ShortenWindow();
  // Gives a new thread a name at the end of its first run.
  void NameThread();
  // Stores the end. `keeps_window`: keeps the window before the next run of the thread can begin.
  Status Record(const Ending& ending, bool keeps_window);
  static std::string ReasonOf(const Ending& ending);
  // The index in the thread's log behind the run's entry at `position`; 0: not known.
  uint64_t LogEnd(uint64_t position) const;
  // The index behind the newest entry.
  uint64_t LogEnd() const { return LogEnd(log_.next_entry() - 1); }
  void Queue(RunEvent event, uint64_t log_end);
  void QueueMessage(std::string_view text, const std::string& node, int step, uint64_t log_end);
  void EmitQueued();
  // Passes the run's record to the listener, if there is one.
  void Report(const RunOutcome& outcome);

  const RunEnvironmentPtr environment_;
  const graph::CompiledGraph& graph_;
  RunRequest& request_;
  state::Service* const state_;
  RunStart start_;
  const uint64_t window_version_;
  const int64_t started_micros_;
  const uint64_t weight_beside_messages_;  // of the request
  RunLog log_;
  WorkingThread thread_;
  Emitter emitter_;

  OpenInputs inputs_;  // calls with questions for the user
  ExecutionMeta meta_;
  ExecutionMeta paused_before_;  // what the thread keeps if it stays paused: the loaded value
  std::string next_;             // the node to execute next
  std::string message_id_;       // NodeRun::message_id of next_
  bool resumed_ = false;         // next_ is the node at which a paused thread resumes
  Repetition repetition_;        // messages of the request that are repeated
  bool answers_again_ = false;   // the request was answered before: no node is executed
  bool resume_node_gone_ = false;
  bool arrived_before_ = false;             // an earlier attempt has arrived at next_
  std::optional<LostCalls> earlier_calls_;  // nullopt: this is the first attempt
  bool took_time_ = false;                  // a node since the last append was not instant
  bool paused_ = false;                     // meta_ holds an interrupt after the last node
  bool fenced_ = false;                     // the lease is lost
  uint64_t failed_at_ = 0;                  // index in the thread's log behind the run's error
  std::vector<RunEvent> queued_;            // events whose changes are not in the log yet
};

}  // namespace agent_graph::run

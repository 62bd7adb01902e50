#include "run/loop/run_loop.h"

#include <exception>
#include <span>
#include <utility>

#include "agent_graph/json.h"
#include "base/allocation_account.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/sized_json.h"
#include "graph/compiled_graph.h"
#include "run/context/request_weight.h"
#include "run/context/run_meter.h"
#include "run/hand_over.h"
#include "run/loop/node_attempts.h"
#include "run/nodes/node_runner.h"
#include "run/run_events.h"
#include "runtime/runtime.h"
#include "runtime/yield.h"
#include "state/limits.h"
#include "state/requests.h"
#include "state/service.h"

namespace agent_graph::run {
namespace {

// Number of nodes that a run executes before it yields to other fibers of its thread.
constexpr int64_t kStepsPerTurn = 8;

MessageIds::Lookup HistoryLookup(state::Service* state, const state::Scope& scope,
                                 const std::string& thread_id, bool created) {
  if (state == nullptr || created) return {};
  return [state, scope, thread_id](const std::string& id) -> Result<bool> {
    const Status found = state->GetMessage(scope, thread_id, id).status();
    if (found.code() == StatusCode::kNotFound) return false;
    AG_RETURN_IF_ERROR(found);
    return true;
  };
}

// Not inlined, so that the stack of a run that waits in its node has no room for the entry.
[[gnu::noinline]] void LogStart(RunLog& log, const std::string& node, int64_t step) {
  log.Add(entry::NodeStarted{.node = node, .step = step});
}

// True if the thread has no messages but those of the request and its answer.
bool IsFirstRun(const state::BeginRunReply& begun, const RunRequest& request) {
  const std::vector<state::StoredMessage>& window = begun.state.window;
  if (window.empty()) return true;
  const std::vector<Message>& first =
      request.initial_context.empty() ? request.messages : request.initial_context;
  return !first.empty() && window.front().id == first.front().id;
}

}  // namespace

RunLoop::RunLoop(RunEnvironmentPtr environment, RunRequest& request, state::Service* state,
                 const state::BeginRunReply& begun, OpenInputs inputs, RunSink& sink)
    : environment_(std::move(environment)),
      graph_(*environment_->graph),
      request_(request),
      state_(state),
      start_(StartOf(*environment_, request, begun)),
      window_version_(begun.window_version),
      started_micros_(UnixMicros()),
      weight_beside_messages_(WeightBesideMessages(request)),
      log_(state, environment_->thread_id, environment_->run_id, begun.lease_epoch,
           environment_->services->on_finished != nullptr),
      thread_(
          graph_, environment_->thread_id, environment_->services->run_bytes_max, log_,
          MessageIds(*environment_->services->ids,
                     HistoryLookup(state, request.scope, environment_->thread_id, begun.created))),
      emitter_(sink, environment_->cancellation),
      inputs_(std::move(inputs)) {}

// An accepted run's thread was created before the run began.
RunStart RunLoop::StartOf(const RunEnvironment& environment, const RunRequest& request,
                          const state::BeginRunReply& begun) {
  RunStart start;
  start.thread_id = environment.thread_id;
  start.run_id = environment.run_id;
  start.is_new_thread =
      begun.created || (request.accepted && begun.omitted_bytes == 0 && IsFirstRun(begun, request));
  start.thread_name = begun.state.record.name;
  start.thread_number = begun.thread_number;
  start.lease_epoch = begun.lease_epoch;
  start.log_index = begun.log_index;
  return start;
}

Result<RunOutcome> RunLoop::Execute(state::ThreadState&& loaded, std::vector<Message>&& window,
                                    InitialState&& initial) {
  Ending ending;
  try {
    ending = Drive(std::move(loaded), std::move(window), std::move(initial));
  } catch (const std::exception& failure) {
    ending = FailUnexpectedly(failure.what());
  } catch (...) {
    ending = FailUnexpectedly("an exception of another kind");
  }
  return Conclude(std::move(ending));
}

[[gnu::noinline]] RunLoop::Ending RunLoop::FailUnexpectedly(const char* what) {
  return Fail(Status(StatusCode::kInternal, "the run failed").WithDetail(what));
}

RunLoop::Ending RunLoop::Drive(state::ThreadState&& loaded, std::vector<Message>&& window,
                               InitialState&& initial) {
  std::optional<Ending> ending = Open(std::move(loaded), std::move(window), std::move(initial));
  while (!ending) {
    ending = BeforeNode();
    if (!ending) ending = AfterStep(Step());
  }
  return *std::move(ending);
}

[[gnu::noinline]] std::optional<RunLoop::Ending> RunLoop::Open(state::ThreadState&& loaded,
                                                               std::vector<Message>&& window,
                                                               InitialState&& initial) {
  AG_CHECK(next_.empty() && meta_.step == 0, "a run is driven once");
  // A client that has gone already has cancelled the run; BeforeNode looks at that.
  (void)emitter_.Start(start_);
  LoadedThread thread{std::move(loaded), std::move(window)};
  if (Status status = Prepare(std::move(thread), std::exchange(initial, {})); !status.ok()) {
    if (request_.accepted && status.code() == StatusCode::kUnavailable) {
      if (request_.accepted->continues()) return Ending{.leaves = true};
      // With an error nothing of this attempt is stored, so the next one is the first again.
      return Ending{.error = std::move(status), .leaves = true};
    }
    return Fail(std::move(status));
  }
  if (answers_again_) return AnswerAgain();
  return std::nullopt;
}

[[gnu::noinline]] std::optional<RunLoop::Ending> RunLoop::BeforeNode() {
  if (environment_->meter != nullptr) {
    if (Status over = environment_->meter->status(); !over.ok()) return Fail(std::move(over));
  }
  if (std::optional<Ending> ending = EndBeforeNode()) return ending;
  if (Status status = Arrive(); !status.ok()) return Fail(std::move(status));
  if (environment_->cancellation.cancelled()) return EndCancelled();
  if (log_.stop_requested()) return Ending{RunStatus::kStopped, {}, {}};
  if (MonotonicClock::now() >= request_.deadline) return FailAtDeadline();
  return std::nullopt;
}

[[gnu::noinline]] std::optional<RunLoop::Ending> RunLoop::AfterStep(Status status) {
  // Nodes that never wait would otherwise block all other fibers of this thread.
  if (meta_.step % kStepsPerTurn == 0) runtime::Yield();
  if (status.ok()) return std::nullopt;
  if (environment_->cancellation.cancelled()) return EndCancelled();
  const bool late = status.code() == StatusCode::kDeadlineExceeded;
  if (late && MonotonicClock::now() >= request_.deadline) return FailAtDeadline();
  return Fail(std::move(status));
}

std::optional<RunLoop::Ending> RunLoop::EndBeforeNode() {
  // A cancelled run has not ended normally, whatever its last node returned: a function that was
  // interrupted returns like any other.
  if (IsCutShort()) return EndCancelled();
  if (paused_) return Ending{RunStatus::kInterrupted, {}, {}};
  if (next_ == END) return Ending{};
  if (InterruptsBeforeNext()) {
    return Pause(ExecutionMeta::Phase::kInterruptedBefore, "before node " + next_);
  }
  if (meta_.step >= request_.recursion_limit) {
    return Fail(Status(StatusCode::kRecursionLimit, "the run did not end within its limit of " +
                                                        std::to_string(request_.recursion_limit) +
                                                        " steps"));
  }
  if (MustLeave()) return Ending{.leaves = true};
  return std::nullopt;
}

Status RunLoop::Arrive() {
  // Instant nodes are appended together with the next node. After a node that took time, append:
  // its result is worth keeping, and the reply shows whether a stop was requested.
  const graph::Node* node = graph_.FindNode(next_);
  const bool instant = node != nullptr && RunnerOf(*node).IsInstant(*node);
  // A further attempt stores its position before each node, because its user code may crash again.
  const bool is_repeated = request_.accepted && request_.accepted->attempt > 1;
  if (instant && !took_time_ && !is_repeated) return Status::Ok();
  took_time_ = false;
  log_.SetInUserCode(node != nullptr && RunnerOf(*node).ExecutesUserCode(*node));
  // Followers of an accepted run get pieces; if the attempt is lost, the log names their message.
  if (request_.accepted && node != nullptr && RunnerOf(*node).StreamsOneMessage(*node)) {
    message_id_ = environment_->services->ids->Next();
    log_.Add(entry::ModelStarted{.node = next_, .message_id = message_id_});
  }
  AG_RETURN_IF_ERROR(log_.Flush(next_, meta_.step));
  // Before the first piece, so that the cursors of readers are behind the entry with its message
  // id.
  emitter_.Stored(LogEnd());
  EmitQueued();
  return Status::Ok();
}

Status RunLoop::Step() {
  AG_CHECK(!paused_ && next_ != END, "a run that paused or reached the end takes no step");
  AG_CHECK(!fenced_, "a run that lost its lease executes no node");
  const graph::Node* node = graph_.FindNode(next_);
  if (node == nullptr) {
    return Status(StatusCode::kGraph, "the graph has no node \"" + next_ + "\"");
  }
  const NodeRun run = Start(*node);
  Result<NodeResult> result = ExecuteNode(run);
  return result.ok() ? EndStep(*node, *std::move(result)) : result.status();
}

[[gnu::noinline]] NodeRun RunLoop::Start(const graph::Node& node) {
  resumed_ = false;
  arrived_before_ = false;
  took_time_ = took_time_ || !RunnerOf(node).IsInstant(node);
  meta_.current_node = node.name;
  emitter_.SetNode(node.name, static_cast<int>(meta_.step) + 1);
  LogStart(log_, node.name, meta_.step + 1);
  return NodeRun{
      .environment = environment_,
      .node = node,
      .thread = thread_,
      .emitter = emitter_,
      .log = log_,
      .inputs = state_ != nullptr ? &inputs_ : nullptr,
      .step = meta_.step,
      .log_begin = start_.thread_number == 0 ? std::nullopt : std::optional(start_.log_index),
      .earlier = earlier_calls_ ? &*earlier_calls_ : nullptr,
      .message_id = std::exchange(message_id_, {})};
}

[[gnu::noinline]] Status RunLoop::EndStep(const graph::Node& node, NodeResult&& result) {
  ++meta_.step;
  AG_RETURN_IF_ERROR(TakeIn(node.name, std::move(result)));
  log_.Add(entry::NodeFinished{.node = node.name, .step = meta_.step});
  if (emitter_.wants_states()) {
    Queue(NodeEvent(thread_.AgentState(meta_, {true, log_.stop_requested()}), node.name,
                    emitter_.step(), request_.recursion_limit),
          LogEnd());
  }
  return Status::Ok();
}

Status RunLoop::TakeIn(const std::string& node, NodeResult result) {
  if (result.messages.size() > kMessagesPerNodeMax) {
    return Status(StatusCode::kGraph, "node \"" + node + "\" returned more than " +
                                          std::to_string(kMessagesPerNodeMax) + " messages");
  }
  if (result.interrupt && result.interrupt->reason.size() + result.interrupt->data_json.size() >
                              state::kInterruptBytesMax) {
    return Status(StatusCode::kGraph, "node \"" + node + "\" interrupted the run with more than " +
                                          std::to_string(state::kInterruptBytesMax) + " bytes");
  }
  if (result.interrupt && !ParseJson(result.interrupt->data_json, kSizedJsonLimits).ok()) {
    return Status(StatusCode::kGraph,
                  "node \"" + node + "\" interrupted the run with data that is not valid JSON");
  }
  // Limits the memory of the reducers and predicates called below, but not that of the engine.
  const AllocationScope user_code(environment_->runtime->function_bytes_max());
  const TolerateAllocations tolerated;
  AG_ASSIGN_OR_RETURN(const std::span<const state::StoredMessage> added,
                      thread_.TakeIn(result, node));
  HoldThread();
  for (size_t i = 0; i < added.size(); ++i) {
    QueueMessage(added[i].json, node, emitter_.step(), LogEnd(thread_.first_taken_in() + i));
  }
  if (result.go_to) {
    AG_ASSIGN_OR_RETURN(next_, graph_.Jump(node, *result.go_to, thread_.state()));
  } else {
    AG_ASSIGN_OR_RETURN(next_, graph_.Next(node, thread_.state()));
  }
  CheckInterruptAfter(node, result.interrupt);
  return Status::Ok();
}

void RunLoop::CheckInterruptAfter(const std::string& node,
                                  const std::optional<Interrupt>& interrupt) {
  if (!interrupt && !graph_.InterruptsAfter(node)) return;
  Pause(ExecutionMeta::Phase::kInterruptedAfter,
        interrupt ? interrupt->reason : "after node " + node);
  meta_.interrupted_node = node;
  if (next_ == END) meta_.resume_node.clear();
  if (interrupt) {
    Result<json> data = ParseJson(interrupt->data_json, kSizedJsonLimits);
    if (data.ok()) meta_.interrupt_data_json = DumpJson(*data);
  }
  paused_ = true;
}

RunLoop::Ending RunLoop::Pause(ExecutionMeta::Phase phase, std::string reason) {
  AG_CHECK(!paused_, "a run pauses once");
  meta_.phase = phase;
  meta_.interrupted_node = next_;
  meta_.interrupt_reason = std::move(reason);
  meta_.resume_node = next_;
  meta_.inputs_json = inputs_.ToJson();
  return {RunStatus::kInterrupted, {}, {}};
}

// If the client disconnects while the run pauses, the thread must be paused when it returns.
bool RunLoop::IsCutShort() const {
  const runtime::CancelReason reason = environment_->cancellation.reason();
  if (reason == runtime::CancelReason::kNone) return false;
  if (paused_ && reason == runtime::CancelReason::kClientGone) return false;
  if (reason != runtime::CancelReason::kShutdown || !environment_->hand_over) return true;
  // A run that has reached its end or a pause is not continued elsewhere. Another attempt would
  // take the pause before `next_` for one that has been there.
  return !paused_ && next_ != END && !InterruptsBeforeNext();
}

bool RunLoop::InterruptsBeforeNext() const {
  return graph_.InterruptsBefore(next_) && !resumed_ && !arrived_before_;
}

bool RunLoop::MustLeave() const {
  return environment_->hand_over != nullptr && environment_->hand_over->requested();
}

// A pause at a node that the graph no longer has could never be resumed.
bool RunLoop::StaysPaused(const Ending& ending) const {
  return resumed_ && !resume_node_gone_ &&
         (ending.status == RunStatus::kStopped || ending.status == RunStatus::kError);
}

RunLoop::Ending RunLoop::EndCancelled() {
  // Read once: the recorded reason must be the one that is used for the decision.
  const runtime::CancelReason reason = environment_->cancellation.reason();
  meta_.phase = ExecutionMeta::Phase::kCompleted;
  Ending ending{RunStatus::kStopped, {}, reason};
  switch (reason) {
    case runtime::CancelReason::kDeadline:
      return FailAtDeadline();
    case runtime::CancelReason::kShutdown:
      if (environment_->hand_over != nullptr) return {.leaves = true};
      ending = Fail(Status(StatusCode::kUnavailable, "the service is shutting down"));
      break;
    default:
      break;
  }
  ending.reason = reason;
  return ending;
}

RunLoop::Ending RunLoop::FailAtDeadline() {
  Ending ending = Fail(Status(StatusCode::kDeadlineExceeded, "the run took longer than it may"));
  ending.reason = runtime::CancelReason::kDeadline;
  return ending;
}

// An accepted run outlives a state that does not answer: another attempt begins where the log ends,
// as after the loss of a worker.
RunLoop::Ending RunLoop::Fail(Status status) {
  const bool is_cut_off = log_.is_cut_off() && status.code() == StatusCode::kUnavailable;
  if (request_.accepted && is_cut_off) return {.error = std::move(status), .leaves = true};
  return EndWithError(std::move(status));
}

RunLoop::Ending RunLoop::EndWithError(Status status) {
  AG_CHECK(!status.ok(), "a run that failed has a reason");
  if (status.code() == StatusCode::kFenced) fenced_ = true;
  environment_->Log(LogLevel::kError, meta_.current_node, status.ToString());
  return {RunStatus::kError, std::move(status), {}};
}

}  // namespace agent_graph::run

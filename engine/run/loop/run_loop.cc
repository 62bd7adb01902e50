#include "run/loop/run_loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <unordered_set>
#include <utility>

#include "agent_graph/json.h"
#include "base/allocation_account.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/json.h"
#include "graph/compiled_graph.h"
#include "run/context/repeated_messages.h"
#include "run/nodes/agent_node.h"
#include "run/nodes/function_node.h"
#include "run/nodes/tool_node.h"
#include "run/run_events.h"
#include "runtime/runtime.h"
#include "runtime/yield.h"
#include "state/limits.h"
#include "state/service.h"

namespace agent_graph::run {
namespace {

// Number of nodes that a run executes before it yields to other fibers of its thread.
constexpr int64_t kStepsPerTurn = 8;

MessageIds::Lookup HistoryLookup(state::Service* state, const state::Scope& scope,
                                 const std::string& thread_id, bool created) {
  if (state == nullptr || created) return {};
  return [state, scope, thread_id](const std::string& id) {
    Result<state::StoredMessage> found = state->GetMessage(scope, thread_id, id);
    return found.ok() || found.status().code() != StatusCode::kNotFound;
  };
}

bool IsInstant(const graph::Node& node) {
  const auto* function = std::get_if<graph::FunctionNode>(&node.kind);
  return function != nullptr && function->execution == Execution::kNonBlocking;
}

// Returns the delay after attempt number `attempt`, before the next one.
std::chrono::milliseconds DelayBefore(const RetryPolicy& retry, int attempt) {
  const double delay =
      static_cast<double>(retry.delay.count()) * std::pow(retry.factor, attempt - 1);
  const auto longest = static_cast<double>(retry.delay_max.count());
  return std::chrono::milliseconds(static_cast<int64_t>(std::min(delay, longest)));
}

std::string RetryJson(std::string_view node, int attempt, const Status& failure) {
  std::string out = "{\"node\":";
  AppendJsonString(out, node);
  out += ",\"attempt\":" + std::to_string(attempt) + ",\"reason\":";
  AppendJsonString(out, failure.message());
  out.push_back('}');
  return out;
}

std::string NodeJson(std::string_view node, int64_t step) {
  std::string out = "{\"node\":";
  AppendJsonString(out, node);
  out += ",\"step\":" + std::to_string(step) + "}";
  return out;
}

}  // namespace

RunLoop::RunLoop(RunEnvironmentPtr environment, RunRequest& request, state::Service* state,
                 const state::BeginRunReply& begun, OpenInputs inputs, RunSink& sink)
    : environment_(std::move(environment)),
      graph_(*environment_->graph),
      request_(request),
      state_(state),
      start_{environment_->thread_id, environment_->run_id, begun.created, begun.state.record.name},
      started_micros_(UnixMicros()),
      log_(state, environment_->thread_id, environment_->run_id, begun.lease_epoch,
           environment_->on_finished != nullptr),
      thread_(
          graph_, environment_->thread_id, environment_->run_bytes_max, log_,
          MessageIds(*environment_->ids,
                     HistoryLookup(state, request.scope, environment_->thread_id, begun.created))),
      emitter_(sink, environment_->cancellation),
      inputs_(std::move(inputs)) {}

RunOutcome RunLoop::Execute(state::ThreadState loaded, InitialState initial) {
  Ending ending;
  try {
    ending = Drive(std::move(loaded), std::move(initial));
  } catch (const std::exception& failure) {
    ending = Fail(Status(StatusCode::kInternal, "the run failed").WithDetail(failure.what()));
  } catch (...) {
    ending = Fail(Status(StatusCode::kInternal, "the run failed"));
  }
  return Conclude(std::move(ending));
}

RunLoop::Ending RunLoop::Drive(state::ThreadState&& loaded, InitialState&& initial) {
  AG_CHECK(next_.empty() && meta_.step == 0, "a run is driven once");
  // A client that has gone already has cancelled the run; that is looked at below.
  (void)emitter_.Start(start_);
  if (Status status = Prepare(std::move(loaded), std::exchange(initial, {})); !status.ok()) {
    return Fail(std::move(status));
  }
  if (IsAnswered()) return AnswerAgain();
  for (;;) {
    // A cancelled run has not ended normally, whatever its last node returned: a function that was
    // interrupted returns like any other.
    if (IsCutShort()) return EndCancelled();
    if (paused_) return {Ending::Kind::kInterrupted, {}, {}};
    if (next_ == END) return {};
    if (graph_.InterruptsBefore(next_) && !resumed_) {
      return Pause(ExecutionMeta::Phase::kInterruptedBefore, "before node " + next_);
    }
    if (meta_.step >= request_.recursion_limit) {
      return Fail(Status(StatusCode::kRecursionLimit, "the run did not end within its limit of " +
                                                          std::to_string(request_.recursion_limit) +
                                                          " steps"));
    }
    if (Status status = Arrive(); !status.ok()) return Fail(std::move(status));
    if (environment_->cancellation.cancelled()) return EndCancelled();
    if (log_.stop_requested()) return {Ending::Kind::kStopped, {}, {}};
    if (MonotonicClock::now() >= request_.deadline) {
      return Fail(Status(StatusCode::kDeadlineExceeded, "the run took longer than it may"));
    }
    Status status = Step();
    // Nodes that never wait would otherwise block all other fibers of this thread.
    if (meta_.step % kStepsPerTurn == 0) runtime::Yield();
    if (status.ok()) continue;
    if (environment_->cancellation.cancelled()) return EndCancelled();
    return Fail(std::move(status));
  }
}

Status RunLoop::Prepare(state::ThreadState loaded, const InitialState& initial) {
  std::string started = "{\"run_id\":";
  AppendJsonString(started, environment_->run_id);
  started += ",\"graph\":";
  AppendJsonString(started, graph_.name());
  started += ",\"graph_hash\":";
  AppendJsonString(started, graph_.hash());
  started.push_back('}');
  log_.Add("run_started", std::move(started));

  paused_before_ = ExecutionMeta::FromJson(loaded.snapshot.execution_json);
  AG_RETURN_IF_ERROR(thread_.Load(std::move(loaded)));
  const bool failed = paused_before_.phase == ExecutionMeta::Phase::kError;
  repetition_ = FindRepetition(thread_.state().messages(), request_.messages, failed);
  if (IsAnswered()) return Status::Ok();
  resumed_ = paused_before_.interrupted() && !paused_before_.resume_node.empty();
  if (resumed_) {
    next_ = paused_before_.resume_node;
    AG_RETURN_IF_ERROR(thread_.CloseAbandonedCalls(request_.messages, inputs_));
  } else {
    AG_RETURN_IF_ERROR(CloseOpenCalls());
  }
  AG_RETURN_IF_ERROR(thread_.Apply(initial, std::exchange(request_.initial_context, {})));
  AG_RETURN_IF_ERROR(AppendRequest());
  return ChooseFirstNode();
}

bool RunLoop::IsAnswered() const {
  if (!repetition_.is_latest_turn || paused_before_.stopped) return false;
  if (paused_before_.interrupted()) return true;
  const bool ended = paused_before_.phase == ExecutionMeta::Phase::kCompleted &&
                     paused_before_.current_node == kEndNode;
  return ended && repetition_.answer_begins < thread_.state().messages().size();
}

RunLoop::Ending RunLoop::AnswerAgain() {
  meta_ = paused_before_;
  for (std::string& text : thread_.VisibleMessages(repetition_.answer_begins)) {
    queued_.push_back(MessageEvent(std::move(text), "", 0));
  }
  const bool paused = meta_.interrupted();
  return {paused ? Ending::Kind::kInterrupted : Ending::Kind::kDone, {}, {}};
}

// For a worker that died during a tool node: the log of the newest run shows what is known of its
// calls, because the current run has not written anything yet.
Status RunLoop::CloseOpenCalls() {
  if (!thread_.HasOpenCalls(request_.messages)) return Status::Ok();
  std::vector<state::LogEntry> entries;
  if (state_ != nullptr) {
    state::ReadRunsRequest read;
    read.scope = request_.scope;
    read.thread_id = environment_->thread_id;
    read.runs_max = 1;
    Result<state::RunTraces> traces = state_->ReadRuns(read);
    if (traces.ok()) entries = std::move(traces->entries);
  }
  return thread_.CloseOpenCalls(request_.messages, entries);
}

// The user's messages are not echoed. Results that a client sends for remote calls are shown like
// those of any other tool.
Status RunLoop::AppendRequest() {
  std::unordered_set<std::string> open;
  for (const ToolCallBlock* call : thread_.state().PendingToolCalls()) open.insert(call->id);
  for (size_t i = 0; i < request_.messages.size(); ++i) {
    if (repetition_.Knows(i)) continue;
    Message& message = request_.messages[i];
    const std::vector<const ToolResultBlock*> results = message.ToolResults();
    const bool answers = std::any_of(results.begin(), results.end(), [&](const auto* result) {
      return open.contains(result->call_id);
    });
    AG_ASSIGN_OR_RETURN(std::string_view text, thread_.Append(std::move(message), ""));
    if (answers) queued_.push_back(MessageEvent(std::string(text), "", 0));
  }
  request_.messages = {};
  emitter_.HoldThread(thread_.bytes());
  return Status::Ok();
}

Status RunLoop::ChooseFirstNode() {
  if (!resumed_) {
    const AllocationScope predicates(environment_->runtime->function_bytes_max());
    const TolerateAllocations tolerated;
    AG_ASSIGN_OR_RETURN(next_, graph_.Next(START, thread_.state()));
    return Status::Ok();
  }
  if (graph_.FindNode(next_) == nullptr) {
    resume_node_gone_ = true;
    return Status(StatusCode::kGraph, "GRAPH_CHANGED: the thread was paused before node \"" +
                                          next_ + "\", which the graph no longer has");
  }
  return Status::Ok();
}

Status RunLoop::Arrive() {
  // Instant nodes are appended together with the next node. After a node that took time, append:
  // its result is worth keeping, and the reply shows whether a stop was requested.
  const graph::Node* node = graph_.FindNode(next_);
  if (node != nullptr && IsInstant(*node) && !took_time_) return Status::Ok();
  took_time_ = false;
  AG_RETURN_IF_ERROR(log_.Flush(next_, meta_.step));
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
  resumed_ = false;
  took_time_ = took_time_ || !IsInstant(*node);
  meta_.current_node = node->name;
  emitter_.SetNode(node->name, static_cast<int>(meta_.step) + 1);
  log_.Add("node_started", NodeJson(node->name, meta_.step + 1));
  AG_ASSIGN_OR_RETURN(NodeResult result, ExecuteNode(*node));
  ++meta_.step;
  AG_RETURN_IF_ERROR(TakeIn(node->name, std::move(result)));
  log_.Add("node_finished", NodeJson(node->name, meta_.step));
  if (emitter_.wants_states()) {
    queued_.push_back(NodeEvent(thread_.AgentState(meta_, {true, log_.stop_requested()}),
                                node->name, emitter_.step(), request_.recursion_limit));
  }
  return Status::Ok();
}

Result<NodeResult> RunLoop::ExecuteNode(const graph::Node& node) {
  for (int attempt = 1;; ++attempt) {
    Result<NodeResult> result = Attempt(node);
    if (result.ok() || !MayRepeat(node, result.status(), attempt)) return result;
    const std::chrono::milliseconds delay = DelayBefore(node.retry, attempt);
    environment_->Log(LogLevel::kWarning, node.name,
                      "attempt " + std::to_string(attempt) + " of " +
                          std::to_string(node.retry.attempts_max) +
                          " failed: " + result.status().ToString());
    log_.Add("node_retry", RetryJson(node.name, attempt, result.status()));
    AG_RETURN_IF_ERROR(runtime::SleepFor(delay, &environment_->cancellation));
  }
}

Result<NodeResult> RunLoop::Attempt(const graph::Node& node) {
  RunEnvironmentPtr environment = environment_;
  if (node.timeout.count() > 0) {
    auto limited = std::make_shared<RunEnvironment>(*environment_);
    limited->deadline = environment_->DeadlineOf(node.timeout);
    environment = std::move(limited);
  }
  if (const auto* agent = std::get_if<Agent>(&node.kind)) {
    Result<NodeResult> result =
        RunAgentNode(*environment, node.name, *agent, thread_.state(), emitter_, log_);
    if (result.ok() || result.status().code() != StatusCode::kDeadlineExceeded) return result;
    if (node.timeout.count() == 0 || MonotonicClock::now() < environment->deadline) return result;
    return Status(StatusCode::kDeadlineExceeded, "node \"" + node.name +
                                                     "\" did not finish within " +
                                                     std::to_string(node.timeout.count()) + " ms");
  }
  if (std::holds_alternative<LiveAgent>(node.kind)) {
    return Status(StatusCode::kGraph, "the graph is live: use /v1/graph/live");
  }
  if (std::holds_alternative<graph::ToolNode>(node.kind)) {
    return RunToolNode(environment, node.name, thread_.state(), meta_.step, log_,
                       state_ != nullptr ? &inputs_ : nullptr);
  }
  Result<NodeResult> result =
      RunFunctionNode(environment, node.name, std::get<graph::FunctionNode>(node.kind),
                      thread_.shared_state(), emitter_);
  if (!result.ok()) thread_.Detach();
  return result;
}

bool RunLoop::MayRepeat(const graph::Node& node, const Status& failure, int attempt) const {
  switch (failure.code()) {
    case StatusCode::kGraph:
    case StatusCode::kModel:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kUnavailable:
    case StatusCode::kResourceExhausted:
      break;
    default:
      return false;
  }
  const Deadline next = DeadlineAfter(DelayBefore(node.retry, attempt));
  return attempt < node.retry.attempts_max && !emitter_.has_shown_pieces() &&
         !environment_->cancellation.cancelled() && next < environment_->deadline;
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
  // Limits the memory of the reducers and predicates called below, but not that of the engine.
  const AllocationScope user_code(environment_->runtime->function_bytes_max());
  const TolerateAllocations tolerated;
  AG_ASSIGN_OR_RETURN(std::vector<std::string> texts, thread_.TakeIn(result, node));
  emitter_.HoldThread(thread_.bytes());
  for (std::string& text : texts) {
    queued_.push_back(MessageEvent(std::move(text), node, emitter_.step()));
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
    Result<json> data = ParseJson(interrupt->data_json);
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
  return {Ending::Kind::kInterrupted, {}, {}};
}

// If the client disconnects while the run pauses, the thread must be paused when it returns.
bool RunLoop::IsCutShort() const {
  const runtime::CancelReason reason = environment_->cancellation.reason();
  if (paused_ && reason == runtime::CancelReason::kClientGone) return false;
  return reason != runtime::CancelReason::kNone;
}

// A pause at a node that the graph no longer has could never be resumed.
bool RunLoop::StaysPaused(const Ending& ending) const {
  return resumed_ && !resume_node_gone_ &&
         (ending.kind == Ending::Kind::kStopped || ending.kind == Ending::Kind::kError);
}

RunLoop::Ending RunLoop::EndCancelled() {
  // Read once: the recorded reason must be the one that is used for the decision.
  const runtime::CancelReason reason = environment_->cancellation.reason();
  meta_.phase = ExecutionMeta::Phase::kCompleted;
  Ending ending{Ending::Kind::kStopped, {}, reason};
  switch (reason) {
    case runtime::CancelReason::kDeadline:
      ending = Fail(Status(StatusCode::kDeadlineExceeded, "the run took longer than it may"));
      break;
    case runtime::CancelReason::kShutdown:
      ending = Fail(Status(StatusCode::kUnavailable, "the service is shutting down"));
      break;
    default:
      break;
  }
  ending.reason = reason;
  return ending;
}

RunLoop::Ending RunLoop::Fail(Status status) {
  AG_CHECK(!status.ok(), "a run that failed has a reason");
  if (status.code() == StatusCode::kFenced) fenced_ = true;
  environment_->Log(LogLevel::kError, meta_.current_node, status.ToString());
  return {Ending::Kind::kError, std::move(status), {}};
}

}  // namespace agent_graph::run

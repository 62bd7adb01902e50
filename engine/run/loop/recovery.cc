// RunLoop: takes over the thread as the runs before have left it: finished, paused, or with calls
// that a lost worker did not finish.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/allocation_account.h"
#include "base/json.h"
#include "graph/compiled_graph.h"
#include "run/context/repeated_messages.h"
#include "run/loop/run_loop.h"
#include "run/run_events.h"
#include "runtime/runtime.h"
#include "state/requests.h"
#include "state/service.h"

namespace agent_graph::run {

Status RunLoop::Prepare(state::ThreadState loaded, const InitialState& initial) {
  log_.Add(entry::RunStarted{
      .run_id = environment_->run_id, .graph = graph_.name(), .graph_hash = graph_.hash()});
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
  if (repetition_.is_answered_turn) return true;
  if (!repetition_.is_latest_turn || paused_before_.stopped) return false;
  if (paused_before_.interrupted()) return true;
  const bool ended = paused_before_.phase == ExecutionMeta::Phase::kCompleted &&
                     paused_before_.current_node == kEndNode;
  return ended && repetition_.answer_begins < thread_.state().messages().size();
}

RunLoop::Ending RunLoop::AnswerAgain() {
  meta_ = paused_before_;
  for (std::string& text :
       thread_.VisibleMessages(repetition_.answer_begins, repetition_.answer_ends)) {
    queued_.push_back(MessageEvent(std::move(text), "", 0));
  }
  const bool paused = meta_.interrupted();
  return {paused ? RunStatus::kInterrupted : RunStatus::kDone, {}, {}};
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

}  // namespace agent_graph::run

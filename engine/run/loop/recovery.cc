// RunLoop: takes over the thread as the runs before have left it: finished, paused, or with calls
// that a lost worker did not finish.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/allocation_account.h"
#include "base/free_memory.h"
#include "base/json.h"
#include "graph/compiled_graph.h"
#include "run/context/context_window.h"
#include "run/context/metered_model.h"
#include "run/context/repeated_messages.h"
#include "run/context/run_meter.h"
#include "run/loop/lost_run_log.h"
#include "run/loop/run_loop.h"
#include "run/run_events.h"
#include "runtime/runtime.h"
#include "state/requests.h"
#include "state/service.h"

namespace agent_graph::run {
namespace {

// The hash of the graph with which an attempt began; nullopt: another entry.
std::optional<std::string> GraphOf(const EntryBody& body) {
  if (const auto* run = std::get_if<entry::RunStarted>(&body)) return run->graph_hash;
  if (const auto* attempt = std::get_if<entry::AttemptStarted>(&body)) return attempt->graph_hash;
  return std::nullopt;
}

// True for the message of a node with tool calls.
bool CallsTools(const entry::MessageAdded& message) {
  return !message.node.empty() && !message.tools.empty() &&
         message.role == RoleName(Role::kAssistant);
}

}  // namespace

[[gnu::noinline]] Status RunLoop::Prepare(LoadedThread&& loaded, const InitialState& initial) {
  if (request_.accepted && request_.accepted->continues()) return Continue(std::move(loaded));
  log_.Add(entry::RunStarted{
      .run_id = environment_->run_id, .graph = graph_.name(), .graph_hash = graph_.hash()});
  if (!request_.note_json.empty()) log_.Add(entry::RunNote{.note_json = request_.note_json});
  AG_RETURN_IF_ERROR(LoadThread(std::move(loaded)));
  repetition_ = FindRepetition(thread_.state().messages(), request_.messages,
                               paused_before_.request_is_open());
  answers_again_ = IsAnswered();
  if (answers_again_) return Status::Ok();
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

Status RunLoop::LoadThread(LoadedThread&& loaded) {
  paused_before_ = ExecutionMeta::FromJson(loaded.state.snapshot.execution_json);
  return thread_.Load(std::move(loaded.state), std::move(loaded.messages));
}

// The state server has folded what earlier attempts set; their messages are in the window.
Status RunLoop::Continue(LoadedThread&& loaded) {
  const AcceptedRun& accepted = *request_.accepted;
  log_.Add(entry::AttemptStarted{.run_id = environment_->run_id,
                                 .attempt = accepted.attempt,
                                 .graph = graph_.name(),
                                 .graph_hash = graph_.hash()});
  AG_RETURN_IF_ERROR(LoadThread(std::move(loaded)));
  meta_.step = accepted.step;
  meta_.current_node = accepted.current_node;
  next_ = accepted.current_node == kEndNode ? END : accepted.current_node;
  arrived_before_ = true;
  AG_ASSIGN_OR_RETURN(const MessageIdSet added, ReadEarlierAttempts());
  AG_RETURN_IF_ERROR(AppendMissing(added));
  return CheckResumeNode();
}

Result<RunLoop::MessageIdSet> RunLoop::ReadEarlierAttempts() {
  state::FollowRunRequest read;
  read.scope = request_.scope;
  read.thread_id = environment_->thread_id;
  read.run_id = environment_->run_id;
  LostCalls calls;
  MessageIdSet added;
  bool left = false;       // the attempt before gave the run back
  bool executed = false;   // an attempt has executed a node, or was lost
  std::string graph_hash;  // of that attempt
  int64_t started_micros = started_micros_;
  for (bool complete = false; !complete;) {
    AG_ASSIGN_OR_RETURN(const state::FollowRunReply page, state_->FollowRun(read, nullptr));
    complete = page.entries.empty() || page.complete;
    for (const state::IndexedEntry& stored : page.entries) {
      read.first = stored.index + 1;
      started_micros = std::min(started_micros, stored.entry.micros);
      const std::optional<EntryBody> body = Decode(stored.entry);
      // Pieces are written beside the log: they may follow its end.
      if (!body || std::holds_alternative<entry::MessagePiece>(*body)) continue;
      log_.usage().Count(*body);
      calls.Note(*body);
      if (const auto* message = std::get_if<entry::MessageAdded>(&*body)) {
        if (message->node.empty()) added.insert(message->message_id);
        if (CallsTools(*message)) environment_->tool_was_forced->store(true);
      }
      const bool is_lost = std::holds_alternative<entry::AttemptStarted>(*body) && !left;
      executed = executed || is_lost || std::holds_alternative<entry::NodeStarted>(*body);
      if (std::optional<std::string> hash = GraphOf(*body)) graph_hash = *std::move(hash);
      left = std::holds_alternative<entry::AttemptLeft>(*body);
    }
  }
  log_.usage().EndAttempt();
  earlier_calls_ = std::move(calls);
  // The thread is still paused. Each end before the first node leaves it so, as in the attempts
  // before.
  resumed_ = left && !executed && paused_before_.interrupted() &&
             paused_before_.resume_node == request_.accepted->current_node;
  paused_before_.unexecuted_resume = paused_before_.unexecuted_resume || !added.empty();
  AG_RETURN_IF_ERROR(CheckFieldsOf(graph_hash));
  if (!left) AG_RETURN_IF_ERROR(CheckLostNode());
  if (environment_->meter != nullptr) {
    const RunUsage& used = log_.usage();
    environment_->meter->AddEarlier({.tokens = used.tokens(),
                                     .model_calls = used.model_calls() + used.failed_calls(),
                                     .tool_calls = used.tool_calls(),
                                     .cost_nano_usd = used.cost_nano_usd()},
                                    started_micros);
  }
  return added;
}

// If another version of the graph has set the fields, checks that this one accepts them.
Status RunLoop::CheckFieldsOf(const std::string& graph_hash) const {
  if (graph_hash.empty() || graph_hash == graph_.hash()) return Status::Ok();
  Status accepted = graph_.CheckFields(thread_.state());
  if (accepted.ok()) return accepted;
  return Status(StatusCode::kGraph, std::string(kGraphChangedReason) + ": " + accepted.message());
}

// Called before this attempt executes the node in which the previous one has died. Fails if that
// node must not be executed twice.
Status RunLoop::CheckLostNode() {
  const graph::Node* node = graph_.FindNode(next_);
  if (node == nullptr) return Status::Ok();
  EstimateLostCall(*node);
  if (!node->once) return Status::Ok();
  return Status(StatusCode::kGraph, std::string(kWorkerLostReason) +
                                        ": the worker died in node \"" + node->name +
                                        "\", which is not executed twice");
}

// Logs an estimate of the model call that an attempt which died in an agent's node has very likely
// made.
void RunLoop::EstimateLostCall(const graph::Node& node) {
  const Agent* agent = std::get_if<Agent>(&node.kind);
  if (agent == nullptr) return;
  const std::vector<Message>& messages = thread_.state().messages();
  const size_t first = graph_.context() ? FirstInContext(messages, *graph_.context()) : 0;
  size_t tokens = EstimateTokens(Message::System(agent->system_prompt));
  for (size_t i = first; i < messages.size(); ++i) tokens += EstimateTokens(messages[i]);
  const Usage usage{.prompt_tokens = static_cast<int64_t>(tokens)};
  log_.Add(entry::ModelLost{.node = node.name,
                            .model_name = agent->model,
                            .input_tokens = usage.prompt_tokens,
                            .cost_nano_usd = CostOf(*environment_, agent->model, usage)});
}

// An earlier attempt has stored the request's messages, unless it died between two portions of a
// very large request. A message that was deleted since then stays deleted.
Status RunLoop::AppendMissing(const MessageIdSet& added) {
  for (std::vector<Message>* messages : {&request_.initial_context, &request_.messages}) {
    for (Message& message : *messages) {
      if (added.contains(message.id)) continue;
      AG_ASSIGN_OR_RETURN(const bool is_known, IsInHistory(message.id));
      if (is_known) continue;
      AG_RETURN_IF_ERROR(thread_.Append(std::move(message), "").status());
    }
    messages->clear();
  }
  HoldThread();
  return Status::Ok();
}

Result<bool> RunLoop::IsInHistory(const std::string& message_id) const {
  const Status found =
      state_->GetMessage(request_.scope, environment_->thread_id, message_id).status();
  if (found.code() == StatusCode::kNotFound) return false;
  AG_RETURN_IF_ERROR(found);
  return true;
}

bool RunLoop::IsAnswered() const {
  if (repetition_.is_answered_turn) return true;
  if (!repetition_.is_latest_turn || paused_before_.stopped) return false;
  const bool has_answer = repetition_.answer_begins < thread_.state().messages().size();
  if (paused_before_.interrupted()) return has_answer || !paused_before_.unexecuted_resume;
  const bool ended = paused_before_.phase == ExecutionMeta::Phase::kCompleted &&
                     paused_before_.current_node == kEndNode;
  return ended && has_answer;
}

RunLoop::Ending RunLoop::AnswerAgain() {
  meta_ = paused_before_;
  thread_.ShowMessages(repetition_.answer_begins, repetition_.answer_ends,
                       [&](std::string_view text) { QueueMessage(text, "", 0, 0); });
  const bool paused = meta_.interrupted();
  return {paused ? RunStatus::kInterrupted : RunStatus::kDone, {}, {}};
}

// For a worker that died during a tool node: the log shows what is known of its calls.
Status RunLoop::CloseOpenCalls() {
  if (!thread_.HasOpenCalls(request_.messages)) return Status::Ok();
  LostCalls lost;
  if (state_ != nullptr) {
    AG_ASSIGN_OR_RETURN(lost, ReadLostCalls(*state_, request_.scope, environment_->thread_id,
                                            thread_.MessageOfPendingCalls()));
  }
  return thread_.CloseOpenCalls(request_.messages, lost);
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
    paused_before_.unexecuted_resume = true;
    if (answers) QueueMessage(text, "", 0, LogEnd());
  }
  FreeMemory(request_.messages);
  HoldThread();
  return Status::Ok();
}

Status RunLoop::ChooseFirstNode() {
  if (!resumed_) {
    const AllocationScope predicates(environment_->runtime->function_bytes_max());
    const TolerateAllocations tolerated;
    AG_ASSIGN_OR_RETURN(next_, graph_.Next(START, thread_.state()));
    return Status::Ok();
  }
  return CheckResumeNode();
}

Status RunLoop::CheckResumeNode() {
  if (next_ == END || graph_.FindNode(next_) != nullptr) return Status::Ok();
  resume_node_gone_ = true;
  return Status(StatusCode::kGraph, std::string(kGraphChangedReason) + ": the " +
                                        std::string(arrived_before_ ? "run" : "thread") +
                                        " was paused before node \"" + next_ +
                                        "\", which the graph no longer has");
}

}  // namespace agent_graph::run

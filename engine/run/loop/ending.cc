// RunLoop: the end of a run, for every reason.
#include <exception>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "run/context/context_window.h"
#include "run/context/window_cache.h"
#include "run/log/run_record.h"
#include "run/loop/run_loop.h"
#include "run/loop/thread_name.h"
#include "run/nodes/model_call_entry.h"
#include "run/run_events.h"
#include "state/requests.h"
#include "state/service.h"

namespace agent_graph::run {
namespace {

// An exception must not escape here: the run ends in any case.
MeteredReply TrySummarize(const RunEnvironment& environment, const ContextPolicy& policy,
                          const std::string& before, const std::vector<Message>& messages) {
  try {
    return Summarize(environment, policy, before, messages);
  } catch (const std::exception& failure) {
    return {.reply =
                Status(StatusCode::kModel, "the model call failed").WithDetail(failure.what())};
  }
}

}  // namespace

std::string ReasonOfFailure(const Status& failure) {
  for (const std::string_view reason : {kGraphChangedReason, kWorkerLostReason, kFileGoneReason}) {
    if (failure.message().starts_with(reason)) return std::string(reason);
  }
  return std::string(StatusCodeName(failure.code()));
}

// The end of a run does not wait on its cancellation, because a cancelled run must also be stored
// and release its lease.
[[gnu::noinline]] Result<RunOutcome> RunLoop::Conclude(Ending ending) {
  if (ending.leaves) return Leave(ending);
  // No later run has the window of a transient run.
  if (ending.status == RunStatus::kDone && !answers_again_ && !request_.transient) ShortenWindow();
  NameThread();
  // The state grants the thread to the next run before it replies about the end of this one. The
  // window is kept before that, unless the outcome of an error would need it.
  const bool keeps_window = ending.status == RunStatus::kDone && !emitter_.wants_final_state();
  RunOutcome outcome;
  if (keeps_window) outcome = OutcomeOf(ending);
  Status recorded = Record(ending, keeps_window);
  if (!recorded.ok() && ending.status != RunStatus::kError) ending = EndWithError(recorded);
  if (ending.status == RunStatus::kError && !StaysPaused(ending)) {
    meta_.phase = ExecutionMeta::Phase::kError;
    meta_.error = ending.error.message();
  }
  if (keeps_window) {
    outcome.status = ending.status;
  } else {
    outcome = OutcomeOf(ending);
  }
  if (recorded.ok()) {
    // The next run may begin already, and a client may read the events slowly.
    if (!keeps_window) KeepWindow();
    EmitQueued();
  }
  if (ending.status == RunStatus::kError) {
    RunEvent error = ErrorEvent(ending.error, emitter_.node(), emitter_.step());
    error.log_end = failed_at_;
    (void)emitter_.Emit(error);
  }
  outcome.start = std::move(start_);
  outcome.is_stored = recorded.ok();
  outcome.error = std::move(ending.error);
  Report(outcome);
  return outcome;
}

RunOutcome RunLoop::OutcomeOf(const Ending& ending) const {
  RunOutcome outcome;
  outcome.status = ending.status;
  if (ending.status == RunStatus::kInterrupted) outcome.interrupt_json = InterruptJson(meta_);
  outcome.messages_json = thread_.VisibleMessages();
  if (emitter_.wants_final_state()) outcome.state_json = thread_.AgentState(meta_, {});
  outcome.summary = thread_.state().summary();
  return outcome;
}

// Messages that others have changed or removed meanwhile are found when the next run begins.
void RunLoop::KeepWindow() {
  WindowCache* const windows = environment_->services->windows;
  if (windows == nullptr || state_ == nullptr) return;
  DecodedWindow window = thread_.TakeWindow();
  window.thread_number = start_.thread_number;
  window.version = window_version_;
  windows->Keep(environment_->thread_id, std::move(window));
}

// If the position cannot be stored, the other worker begins at the last one that was.
RunOutcome RunLoop::Leave(const Ending& ending) {
  const std::string place = next_ == END ? kEndNode : next_;
  log_.SetInUserCode(false);
  Status kept = ending.error;
  // After an error, the latest entries are not stored: the node that was cut off is executed again,
  // and its entries say nothing about that execution.
  if (kept.ok()) {
    // Not logged if this attempt could not check which calls the previous one had left in progress.
    if (!request_.accepted->continues() || earlier_calls_) log_.Add(entry::AttemptLeft{});
    kept = log_.Flush(place, meta_.step);
    if (kept.ok()) EmitQueued();
  }
  if (kept.code() != StatusCode::kFenced) {
    const Status given =
        state_->HandOverRun(environment_->thread_id, environment_->run_id, start_.lease_epoch);
    if (kept.ok()) kept = given;
  }
  if (!kept.ok()) environment_->Log(LogLevel::kWarning, meta_.current_node, kept.ToString());
  RunOutcome outcome;
  outcome.start = std::move(start_);
  outcome.left = true;
  outcome.status = RunStatus::kInterrupted;
  Report(outcome);
  return outcome;
}

void RunLoop::Report(const RunOutcome& outcome) {
  if (!environment_->services->on_finished) return;
  RunRecord record;
  record.thread_id = environment_->thread_id;
  record.run_id = environment_->run_id;
  record.graph_name = graph_.name();
  record.trace_parent = request_.trace_parent;
  record.status = outcome.status;
  record.started_micros = started_micros_;
  record.finished_micros = UnixMicros();
  record.entries = log_.TakeRecord();
  environment_->services->on_finished(std::move(record));
}

void RunLoop::ShortenWindow() {
  if (!graph_.context()) return;
  const ContextPolicy& policy = *graph_.context();
  const std::vector<Message>& messages = thread_.state().messages();
  const size_t count = FirstToKeep(messages, policy);
  if (count == 0) return;
  if (policy.summarize) {
    // The answer is complete, so the client receives it before the summary is made.
    // Store that all nodes have been executed, so that another attempt does not repeat the last.
    log_.SetInUserCode(false);
    if (!log_.Flush(kEndNode, meta_.step).ok()) return;
    EmitQueued();
    const int64_t started_micros = UnixMicros();
    const MeteredReply call =
        TrySummarize(*environment_, policy, thread_.state().summary().value_or(""),
                     {messages.begin(), messages.begin() + static_cast<ptrdiff_t>(count)});
    log_.Add(ModelCallEntry("", policy.summary_model, "", call, UnixMicros() - started_micros));
    if (!call.reply.ok()) {
      // No data is lost: models see only a part of the window, and the next run tries again.
      environment_->Log(LogLevel::kWarning, "", "no summary: " + call.reply.status().ToString());
      return;
    }
    NodeResult result;
    result.summary = call.reply->message.Text();
    if (Status status = thread_.TakeIn(result, "").status(); !status.ok()) {
      environment_->Log(LogLevel::kWarning, "", "no summary: " + status.ToString());
      return;
    }
  }
  thread_.Forget(count);
  log_.Add(entry::ContextTrimmed{.messages = static_cast<int64_t>(count)});
}

void RunLoop::NameThread() {
  if (!start_.is_new_thread || fenced_ || !start_.thread_name.empty()) return;
  start_.thread_name = run::NameThread(*environment_, thread_.state().messages());
}

Status RunLoop::Record(const Ending& ending, bool keeps_window) {
  switch (ending.status) {
    case RunStatus::kDone:
      // A repeated request, which is only answered, does not move the thread to the end of the
      // graph: its latest turn may have been cut off in a node.
      if (!answers_again_) meta_.current_node = kEndNode;
      break;
    case RunStatus::kError:
      meta_.phase = ExecutionMeta::Phase::kError;
      meta_.error = ending.error.message();
      log_.Add(entry::RunFailed{.code = std::string(StatusCodeName(ending.error.code())),
                                .reason = ending.error.message(),
                                .node = emitter_.node(),
                                .step = meta_.step});
      failed_at_ = LogEnd();
      break;
    case RunStatus::kStopped:
      meta_.stopped = true;
      break;
    case RunStatus::kInterrupted:
      log_.Add(entry::Interrupted{.node = meta_.interrupted_node,
                                  .phase = PhaseName(meta_.phase),
                                  .reason = meta_.interrupt_reason,
                                  .data_json = meta_.interrupt_data_json});
      break;
  }
  if (StaysPaused(ending)) meta_ = paused_before_;
  const bool cancelled = ending.reason != runtime::CancelReason::kNone;
  log_.Add(entry::RunFinished{
      .run_id = environment_->run_id,
      .status = ending.status,
      .reason = cancelled ? runtime::CancelReasonName(ending.reason) : std::string()});
  AG_CHECK(!fenced_ || ending.status == RunStatus::kError, "a run that lost its lease has failed");
  // A lease that was lost is not ours to release, and its thread not ours to write.
  if (fenced_) return ending.error;
  if (state_ == nullptr) return Status::Ok();
  state::FinishRunRequest finish = thread_.Finish(meta_);
  finish.status = RunStatusName(ending.status);
  finish.thread_name = start_.thread_name;
  finish.reason = ReasonOf(ending);
  finish.window_is_kept = keeps_window;
  if (keeps_window) KeepWindow();
  return log_.Finish(std::move(finish), meta_.current_node, meta_.step);
}

std::string RunLoop::ReasonOf(const Ending& ending) {
  if (ending.reason != runtime::CancelReason::kNone) {
    return runtime::CancelReasonName(ending.reason);
  }
  return ending.status == RunStatus::kError ? ReasonOfFailure(ending.error) : std::string();
}

uint64_t RunLoop::LogEnd(uint64_t position) const {
  return start_.thread_number == 0 ? 0 : start_.log_index + position + 1;
}

void RunLoop::Queue(RunEvent event, uint64_t log_end) {
  event.log_end = log_end;
  queued_.push_back(std::move(event));
}

void RunLoop::QueueMessage(std::string_view text, const std::string& node, int step,
                           uint64_t log_end) {
  Queue(MessageEvent(emitter_.wants_messages() ? std::string(text) : std::string(), node, step),
        log_end);
}

// Events are emitted only after the node's changes are in the log.
void RunLoop::EmitQueued() {
  std::vector<RunEvent> events = std::move(queued_);
  queued_.clear();
  for (RunEvent& event : events) {
    if (!emitter_.Emit(event).ok()) return;
    if (event.kind != RunEvent::Kind::kUpdate) continue;
    event.kind = RunEvent::Kind::kState;
    event.data_json.clear();
    if (!emitter_.Emit(event).ok()) return;
  }
}

}  // namespace agent_graph::run

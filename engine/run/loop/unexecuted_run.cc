// Runner: the end of runs that have their lease, and fail before their first node.
#include <utility>
#include <vector>

#include "base/clock.h"
#include "graph/compiled_graph.h"
#include "run/log/log_entry.h"
#include "run/loop/run_loop.h"
#include "run/loop/runner.h"
#include "state/requests.h"
#include "state/service.h"

namespace agent_graph::run {
namespace {

// True for failures of this worker, or of its connection; the state ends a run whose deadline has
// passed.
bool MustGiveBack(const Status& failure) {
  return failure.code() == StatusCode::kUnavailable ||
         failure.code() == StatusCode::kResourceExhausted ||
         failure.code() == StatusCode::kDeadlineExceeded;
}

// The entries of an accepted run that failed before its first node, for those that follow it.
void AddFailure(const RunRequest& request, const RunEnvironment& environment, const Status& failure,
                RunStatus status, state::FinishRunRequest& finish) {
  const AcceptedRun& accepted = *request.accepted;
  const graph::CompiledGraph& graph = *environment.graph;
  std::vector<state::LogEntry>& entries = finish.append.entries;
  const auto add = [&](EntryBody body) {
    entries.push_back(Encode(std::move(body), UnixMicros()));
  };
  if (accepted.continues()) {
    add(entry::AttemptStarted{.run_id = environment.run_id,
                              .attempt = accepted.attempt,
                              .graph = graph.name(),
                              .graph_hash = graph.hash()});
  } else {
    add(entry::RunStarted{
        .run_id = environment.run_id, .graph = graph.name(), .graph_hash = graph.hash()});
    if (!request.note_json.empty()) add(entry::RunNote{.note_json = request.note_json});
  }
  add(entry::RunFailed{.code = std::string(StatusCodeName(failure.code())),
                       .reason = failure.message(),
                       .node = accepted.current_node,
                       .step = accepted.step});
  add(entry::RunFinished{.run_id = environment.run_id, .status = status});
  finish.append.first_entry = 0;
  finish.append.current_node = accepted.current_node;
  finish.append.step = accepted.step;
  finish.append.durable = true;
}

// The cancellation that made a run fail before its first node.
runtime::CancelReason CancelOf(const RunEnvironment& environment, const Status& failure) {
  const bool may_be =
      failure.code() == StatusCode::kCancelled || failure.code() == StatusCode::kDeadlineExceeded;
  return may_be ? environment.cancellation.reason() : runtime::CancelReason::kNone;
}

bool IsStop(runtime::CancelReason reason) {
  return reason == runtime::CancelReason::kStopped || reason == runtime::CancelReason::kClientGone;
}

}  // namespace

// Releases the thread unchanged. An accepted run is given back if another worker may have more
// success, or if it was stopped.
void Runner::Abandon(const RunRequest& request, const BegunRun& begun,
                     const Status& failure) const {
  if (StateFor(request) == nullptr) return;
  const RunEnvironment& environment = *begun.environment;
  const runtime::CancelReason cancel = CancelOf(environment, failure);
  const bool is_cancelled = cancel != runtime::CancelReason::kNone;
  // If an accepted run was stopped, the state knows it, and ends the run.
  if (request.accepted && (is_cancelled || MustGiveBack(failure))) {
    const Status given =
        state_->HandOverRun(environment.thread_id, environment.run_id, begun.reply.lease_epoch);
    if (!given.ok()) environment.Log(LogLevel::kWarning, "", given.ToString());
    return;
  }
  const RunStatus status = IsStop(cancel) ? RunStatus::kStopped : RunStatus::kError;
  std::string reason = is_cancelled ? runtime::CancelReasonName(cancel) : ReasonOfFailure(failure);
  const Status stored = StoreFailure(request, begun, failure, status, std::move(reason));
  if (!stored.ok()) environment.Log(LogLevel::kWarning, "", stored.ToString());
}

Status Runner::StoreFailure(const RunRequest& request, const BegunRun& begun, const Status& failure,
                            RunStatus status, std::string reason) const {
  const RunEnvironment& environment = *begun.environment;
  state::FinishRunRequest finish;
  finish.append.thread_id = environment.thread_id;
  finish.append.run_id = environment.run_id;
  finish.append.lease_epoch = begun.reply.lease_epoch;
  finish.status = RunStatusName(status);
  finish.state_unread = true;
  finish.reason = std::move(reason);
  if (request.accepted) AddFailure(request, environment, failure, status, finish);
  return state_->FinishRun(finish);
}

Status Runner::EndUnexecuted(const RunRequest& request, const runtime::Cancellation& cancellation,
                             const Status& failure, std::string reason) {
  constexpr uint64_t kNoState = 0;
  BegunRun begun;
  const Status opened = BeginUpTo(kNoState, request, cancellation, begun);
  if (opened.code() == StatusCode::kDataLoss) {
    return EndUnread(request, cancellation, failure, std::move(reason));
  }
  AG_RETURN_IF_ERROR(opened);
  if (!reason.empty()) {
    return StoreFailure(request, begun, failure, RunStatus::kError, std::move(reason));
  }
  Abandon(request, begun, failure);
  return Status::Ok();
}

// It still has the lease that it was granted.
Status Runner::EndUnread(const RunRequest& request, const runtime::Cancellation& cancellation,
                         const Status& failure, std::string reason) {
  AG_ASSIGN_OR_RETURN(const std::shared_ptr<RunEnvironment> environment,
                      MakeEnvironment(request, cancellation));
  environment->thread_id = request.thread_id;
  BegunRun begun{.environment = environment, .reply = {}};
  begun.reply.lease_epoch = request.accepted->lease_epoch;
  if (reason.empty()) reason = ReasonOfFailure(failure);
  return StoreFailure(request, begun, failure, RunStatus::kError, std::move(reason));
}

}  // namespace agent_graph::run

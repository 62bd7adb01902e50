// Store: the ends of runs, as their workers send them, and of accepted runs that no worker
// executes.
#include <optional>
#include <string>
#include <vector>

#include "state/requests.h"
#include "state/rules/lost_run.h"
#include "state/rules/run_state.h"
#include "state/store/store.h"
#include "state/thread/thread_read.h"

namespace agent_graph::state {
namespace {

constexpr size_t kOverdueAtOnce = 128;

}  // namespace

// True for a FinishRun that was executed before, and is resent because its reply was lost.
Result<bool> Store::HasFinished(const AppendRunRequest& append) const {
  AG_ASSIGN_OR_RETURN(const std::optional<ThreadRow> thread,
                      FindThread(transaction_, append.thread_id));
  if (!thread) return false;
  AG_ASSIGN_OR_RETURN(const std::optional<RunRow> run,
                      transaction_.GetRow<RunRow>(keys::Run(thread->key(), append.run_id)));
  return run && run->finished_epoch != 0 && run->finished_epoch == append.lease_epoch;
}

Result<ReplyRow> Store::FinishRun(const ReplyAddress& from, FinishRunRequest& finish,
                                  int64_t micros) {
  Result<ReplyRow> finished = StageFinish(from, finish, micros);
  if (finished.status().code() != StatusCode::kDataLoss) return finished;
  // Another attempt could not end, either. See StageNextAttempt. The lease of a later run is not
  // concerned.
  const Result<Lease*> fenced = FencedLease(from, finish.append);
  if (fenced.ok()) (*fenced)->is_damaged = true;
  return finished;
}

Result<ReplyRow> Store::StageFinish(const ReplyAddress& from, FinishRunRequest& finish,
                                    int64_t micros) {
  const Result<Lease*> fenced = FencedLease(from, finish.append);
  if (!fenced.ok()) {
    AG_ASSIGN_OR_RETURN(const bool is_repeated, HasFinished(finish.append));
    return is_repeated ? ReplyRow{} : Result<ReplyRow>(fenced.status());
  }
  Lease* const lease = *fenced;
  const std::string thread_id = finish.append.thread_id;
  AG_ASSIGN_OR_RETURN(std::optional<ThreadRow> thread, FindThread(transaction_, thread_id));
  if (!thread) return Fenced();
  ThreadEditor editor(transaction_, lease->thread);
  AG_RETURN_IF_ERROR(ApplyAppend(*lease, editor, finish.append, micros));
  AG_RETURN_IF_ERROR(editor.Forget(finish.forgotten));
  AG_RETURN_IF_ERROR(editor.TrimWindowTo(lease->window_max));
  AG_RETURN_IF_ERROR(WriteBack(*lease, *thread, editor, finish));
  AG_RETURN_IF_ERROR(StageRecord(*lease, editor, thread->last_run_id,
                                 {.run_state = RunStateOf(finish.status),
                                  .reason = finish.reason,
                                  .usage_json = finish.usage_json,
                                  .micros = micros,
                                  .lease_epoch = lease->row.epoch,
                                  .graph_hash = finish.snapshot.graph_hash}));
  editor.Save();
  RememberLease(lease->row, *thread);
  if (thread->name.empty()) thread->name = finish.thread_name;
  TouchThread(transaction_, thread_id, *thread, micros);
  lease->window_is_kept = finish.window_is_kept;
  EndLease(thread_id);
  return ReplyRow{};
}

// The thread must not stay locked if its rows cannot be read. The record of an accepted run, for
// which clients wait, still gets an end then.
void Store::StageEndOfLostRun(const Lease& lease, const std::string& reason) {
  if (StageLostRun(lease, reason).ok()) return;
  transaction_.Reject();
  if (!lease.accepted) return;
  EndUnexecuted(lease.row.thread_id, lease.thread, lease.row.run_id, StateOfLostRun(reason),
                reason);
}

void Store::EndUnexecuted(const std::string& thread_id, const keys::ThreadKey& thread,
                          const std::string& run_id, RunState run_state,
                          const std::string& reason) {
  const Status ended = StageEndWithoutWorker(thread, run_id, run_state, reason);
  if (ended.ok()) return;
  // Without its request the run is not granted again.
  transaction_.Delete(keys::RunRequest(thread, run_id));
  if (ended.code() != StatusCode::kDataLoss) return;
  // The record cannot be read. Clients may wait for the end of the run, so it gets another one.
  RunRow row;
  row.record.run_id = run_id;
  row.record.thread_id = thread_id;
  row.record.thread_number = thread.number;
  row.record.state = RunState::kError;
  row.record.reason = kDamagedReason;
  row.record.created_micros = database_.Now();
  row.record.finished_micros = row.record.created_micros;
  row.record.accepted = true;
  const Result<uint64_t> log_end = ThreadEditor(transaction_, thread).NextLogIndex();
  if (log_end.ok()) row.log_end = row.record.log_begin = *log_end;
  transaction_.PutRow(keys::Run(thread, run_id), row);
}

Status Store::StageEndWithoutWorker(const keys::ThreadKey& thread, const std::string& run_id,
                                    RunState run_state, const std::string& reason) {
  const std::string record_key = keys::Run(thread, run_id);
  AG_ASSIGN_OR_RETURN(std::optional<RunRow> run, transaction_.GetRow<RunRow>(record_key));
  transaction_.Delete(keys::RunRequest(thread, run_id));
  // Another host may have ended it already.
  if (!run || run->record.finished_micros != 0) return Status::Ok();
  const Result<uint64_t> log_end = ThreadEditor(transaction_, thread).NextLogIndex();
  // A log that cannot be read has no end, either.
  run->log_end = log_end.ok() ? *log_end : run->record.log_begin;
  run->record.state = run_state;
  run->record.reason = reason;
  run->record.finished_micros = database_.Now();
  if (run->record.started_micros == 0) run->record.log_begin = run->log_end;
  transaction_.PutRow(record_key, *run);
  return Status::Ok();
}

void Store::EndReserved(const std::string& thread_id, RunState run_state,
                        const std::string& reason) {
  const Lease& lease = leases_.at(thread_id);
  Result<std::optional<RunRow>> run =
      transaction_.GetRow<RunRow>(keys::Run(lease.thread, lease.row.run_id));
  // The entries of an earlier attempt need an end as well. Otherwise only record the epoch in the
  // thread, so that no later lease gets the same one.
  const bool has_appended = run.ok() && *run && (*run)->has_appended;
  (void)(has_appended ? StageLostRun(lease, reason) : StageReleased(lease));
  EndUnexecuted(thread_id, lease.thread, lease.row.run_id, run_state, reason);
  EndLease(thread_id);
}

void Store::EndQueued(const Lease& lease, const std::string& run_id, RunState run_state,
                      const std::string& reason) {
  EndUnexecuted(lease.row.thread_id, lease.thread, run_id, run_state, reason);
  changed_runs_.push_back(lease.row.thread_id);
}

void Store::EndUngrantedRuns(MonotonicClock::time_point now) {
  const std::vector<std::string> overdue = ungranted_.Overdue(now, kOverdueAtOnce);
  UseAll(overdue);
  // A run that has appended writes its state.
  const size_t bytes_max = transaction_.bytes() + kPortionBytesMax;
  for (const std::string& thread_id : overdue) {
    if (transaction_.bytes() >= bytes_max) break;
    const auto lease = leases_.find(thread_id);
    // Another host may have ended it, or may continue it.
    const bool waits = lease != leases_.end() && IsOurs(lease->second);
    if (waits) EndReserved(thread_id, RunState::kError, kDeadlineReason);
    ungranted_.Erase(thread_id);
    transaction_.Accept(sync_ != SyncLevel::kNone);
  }
  AdmitWaiters();
}

}  // namespace agent_graph::state

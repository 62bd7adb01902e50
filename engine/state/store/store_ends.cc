// Store: the ends of runs, as their workers send them.
#include <optional>
#include <string>

#include "state/requests.h"
#include "state/rules/run_state.h"
#include "state/store/store.h"
#include "state/thread/thread_read.h"

namespace agent_graph::state {

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

}  // namespace agent_graph::state

// Store: the changes of a run whose end was not stored, rebuilt from its entries in the log.
#include <algorithm>
#include <utility>

#include "state/rules/fold.h"
#include "state/rules/lost_run.h"
#include "state/rules/outside_change.h"
#include "state/rules/unexecuted_resume.h"
#include "state/store/store.h"

namespace agent_graph::state {

void Store::NoteEffects(Lease& lease, const std::vector<LogEntry>& entries) {
  const bool any = std::any_of(entries.begin(), entries.end(),
                               [](const LogEntry& entry) { return entry.effect.has_value(); });
  if (!any) return;
  lease.has_effects = true;
  lease.last_effect_commit = commits_;
}

Status Store::ReadLogBackwards(const Lease& lease, bool has_uncommitted,
                               const std::function<bool(LogRow&&)>& take) const {
  Status damage;
  const auto take_row = [&](std::string_view, std::string_view value) {
    LogRow row;
    if (!pack::FromBytes(value, row)) {
      damage = DamagedState();
      return false;
    }
    return take(std::move(row));
  };
  const std::string prefix = keys::ThreadPrefix(keys::Table::kLog, lease.thread);
  if (has_uncommitted) {
    const auto rows = transaction_.UncommittedRows(prefix);
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
      if (!take_row(row->first, row->second)) return damage;
    }
  }
  AG_RETURN_IF_ERROR(database_.ScanBackwards(prefix, keys::PrefixEnd(prefix), take_row));
  return damage;
}

Result<RunEffects> Store::ReadEffects(const Lease& lease) const {
  RunEffects effects(lease.row.epoch);
  AG_RETURN_IF_ERROR(ReadLogBackwards(
      lease, lease.last_effect_commit == commits_,
      [&](LogRow&& row) { return effects.TakeEarlier(std::move(row.entries), row.lease_epoch); }));
  return effects;
}

Result<Snapshot> Store::FoldRun(const Lease& lease, const ThreadEditor& editor) const {
  AG_ASSIGN_OR_RETURN(Snapshot stored, editor.ReadSnapshot());
  if (!lease.has_effects) return stored;
  AG_ASSIGN_OR_RETURN(const RunEffects effects, ReadEffects(lease));
  std::optional<std::string> base = stored.fields_json;
  if (lease.row.state_changed) {
    AG_ASSIGN_OR_RETURN(std::optional<RunBaseRow> kept,
                        transaction_.GetRow<RunBaseRow>(keys::RunBase(lease.thread)));
    base.reset();
    // The row may be missing, or left over, if another build has stored the change.
    if (kept && kept->lease_epoch == lease.row.epoch) base = std::move(kept->fields_json);
  }
  return effects.FoldInto(std::move(stored), base, lease.outside.value_or(OutsideChangeRow()));
}

Result<bool> Store::HasActed(const Lease& lease) const {
  if (lease.row.last_append > 0) return true;
  if (!lease.accepted) return false;
  AG_ASSIGN_OR_RETURN(const std::optional<RunRow> run,
                      transaction_.GetRow<RunRow>(keys::Run(lease.thread, lease.row.run_id)));
  return run && run->has_appended;
}

Result<bool> Store::KeepPause(const Lease& lease, const std::string& reason,
                              Snapshot& snapshot) const {
  if (reason == kHistoryLost || !IsResumable(snapshot.execution_json)) return false;
  UnexecutedRun run;
  AG_RETURN_IF_ERROR(ReadLogBackwards(lease, /*has_uncommitted=*/true,
                                      [&](LogRow&& row) { return run.TakeEarlier(row.entries); }));
  if (!run.is_unexecuted()) return false;
  if (run.has_messages()) {
    snapshot.execution_json = WithUnexecutedResume(snapshot.execution_json);
  }
  return true;
}

Status Store::StageLostState(const Lease& lease, ThreadEditor& editor, const std::string& reason) {
  AG_ASSIGN_OR_RETURN(const bool has_acted, HasActed(lease));
  if (!has_acted) return Status::Ok();
  Result<Snapshot> snapshot = FoldRun(lease, editor);
  if (!snapshot.ok()) {
    reports_.push_back(
        {LogLevel::kAlert, "the changes of run " + lease.row.run_id +
                               " cannot be read, so its thread keeps the state before it: " +
                               snapshot.status().ToString()});
    snapshot = editor.ReadSnapshot();
  }
  // The run ends in any case: a snapshot that cannot be read is left unchanged, and a log that
  // cannot be read ends the pause.
  if (snapshot.ok()) {
    const Result<bool> stays_paused = KeepPause(lease, reason, *snapshot);
    if (stays_paused.ok() && *stays_paused) {
      editor.WriteSnapshot(*snapshot);
      return Status::Ok();
    }
    snapshot->execution_json = LostRunExecution(lease.row.current_node, lease.row.step, reason);
    editor.WriteSnapshot(*snapshot);
  }
  return ReplacePause(lease.row.thread_id, lease.thread, {});
}

}  // namespace agent_graph::state

// Store: changes of a thread's state from outside while a run is in flight.
#include <utility>

#include "state/requests.h"
#include "state/rules/outside_change.h"
#include "state/rules/pause.h"
#include "state/store/store.h"

namespace agent_graph::state {

Status Store::LoadOutsideChange(Lease& lease) const {
  if (!lease.row.state_changed) return Status::Ok();
  AG_ASSIGN_OR_RETURN(lease.outside,
                      transaction_.GetRow<OutsideChangeRow>(keys::OutsideChange(lease.thread)));
  // The row may be left over from a state server of another build.
  if (lease.outside && lease.outside->lease_epoch != lease.row.epoch) lease.outside.reset();
  return Status::Ok();
}

void Store::KeepRunBase(const std::string& thread_id, const ThreadEditor& editor) {
  auto found = leases_.find(thread_id);
  // Only before the first change are the stored fields still those that the run has loaded.
  if (found == leases_.end() || found->second.row.state_changed) return;
  // Ignore a snapshot that cannot be read: clients must still be able to clear it.
  Result<Snapshot> snapshot = editor.ReadSnapshot();
  if (!snapshot.ok()) return;
  transaction_.PutRow(keys::RunBase(found->second.thread),
                      RunBaseRow{found->second.row.epoch, std::move(snapshot->fields_json)});
}

Status Store::NoteOutsideChange(const std::string& thread_id, const OutsideChange& change) {
  auto found = leases_.find(thread_id);
  if (found == leases_.end()) return Status::Ok();
  Lease& lease = found->second;
  OutsideChangeRow row = lease.outside.value_or(OutsideChangeRow());
  row.lease_epoch = lease.row.epoch;
  AG_RETURN_IF_ERROR(AddOutsideChange(change, lease.row.entries_logged, row));
  lease.row.state_changed = true;
  transaction_.PutRow(keys::Lease(lease.thread), lease.row);
  transaction_.PutRow(keys::OutsideChange(lease.thread), row);
  lease.outside = std::move(row);
  return Status::Ok();
}

Status Store::AddRunMessages(Lease& lease, ThreadEditor& editor,
                             const std::vector<StoredMessage>& messages) {
  if (!lease.outside || !lease.outside->context_cleared || messages.empty()) {
    return editor.AddMessages(messages, ThreadEditor::Existing::kKeep);
  }
  OutsideChangeRow outside = *lease.outside;
  for (const StoredMessage& message : messages) {
    AG_RETURN_IF_ERROR(JoinsNewContext(message, outside)
                           ? editor.AddMessages({message}, ThreadEditor::Existing::kKeep)
                           : editor.AddToHistory(message));
  }
  transaction_.PutRow(keys::OutsideChange(lease.thread), outside);
  lease.outside = std::move(outside);
  return Status::Ok();
}

Status Store::WriteBack(const Lease& lease, const ThreadRow& thread, ThreadEditor& editor,
                        const FinishRunRequest& finish) {
  if (finish.state_unread) return StageLostState(lease, editor, finish.reason);
  Snapshot snapshot = finish.snapshot;
  std::vector<OpenCall> open = finish.open_calls;
  if (lease.row.state_changed) {
    const OutsideChangeRow outside = lease.outside.value_or(OutsideChangeRow());
    AG_ASSIGN_OR_RETURN(const Snapshot stored, editor.ReadSnapshot());
    AG_ASSIGN_OR_RETURN(snapshot, MergeFinished(finish, stored, outside, open));
  }
  const size_t calls = open.size();
  AG_RETURN_IF_ERROR(editor.KeepCallsInWindow(open));
  if (open.size() != calls) {
    snapshot.execution_json = NarrowPause(snapshot.execution_json, IdsOf(open));
  }
  editor.WriteSnapshot(snapshot);
  return ReplacePause(lease.row.thread_id, thread.key(), std::move(open));
}

}  // namespace agent_graph::state

// Store: changes of a thread's state from outside while a run is in flight. Each change has a
// position among the run's entries; the later of two changes of a field wins.
#include <algorithm>

#include "state/leveldb/store.h"
#include "state/leveldb/stored_json.h"

namespace agent_graph::state {
namespace {

constexpr size_t kOutsideFieldsMax = 10'000;

void NoteField(const std::string& name, uint64_t behind, OutsideChangeRow& row) {
  for (OutsideFieldChange& field : row.fields) {
    if (field.name != name) continue;
    field.behind = behind;
    return;
  }
  row.fields.push_back({name, behind});
}

// True if the run's last change of the field, at entry `at`, precedes a change from outside.
bool IsLost(const OutsideChangeRow& outside, const std::string& name, uint64_t at) {
  if (outside.all_behind && at < *outside.all_behind) return true;
  return std::any_of(
      outside.fields.begin(), outside.fields.end(),
      [&](const OutsideFieldChange& field) { return field.name == name && at < field.behind; });
}

bool IsSummaryLost(const OutsideChangeRow& outside, uint64_t at) {
  return (outside.all_behind && at < *outside.all_behind) ||
         (outside.summary_behind && at < *outside.summary_behind);
}

// True if the run reports the positions of its changes; a worker of another build does not.
bool SaysWhen(const FinishRunRequest& finish) {
  return finish.changed_at.size() == finish.changed_fields.size();
}

std::vector<std::string> FieldsThatStand(const FinishRunRequest& finish,
                                         const OutsideChangeRow& outside) {
  if (!SaysWhen(finish)) return finish.changed_fields;
  std::vector<std::string> stand;
  for (size_t i = 0; i < finish.changed_fields.size(); ++i) {
    const std::string& name = finish.changed_fields[i];
    if (!IsLost(outside, name, finish.changed_at[i])) stand.push_back(name);
  }
  return stand;
}

// The context was cleared during the run: returns true if a message of the run belongs to the new
// context, and then updates `outside`.
bool JoinsNewContext(const StoredMessage& message, OutsideChangeRow& outside) {
  if (!outside.context_restarted && !IsFromUser(message.json)) return false;
  const CallsInMessage calls = CallsIn(message.json);
  for (const std::string& id : calls.answered) {
    if (std::find(outside.open_calls.begin(), outside.open_calls.end(), id) ==
        outside.open_calls.end()) {
      return false;
    }
  }
  outside.context_restarted = true;
  for (const std::string& id : calls.answered) std::erase(outside.open_calls, id);
  outside.open_calls.insert(outside.open_calls.end(), calls.made.begin(), calls.made.end());
  return true;
}

}  // namespace

Status Store::LoadOutsideChange(Lease& lease) const {
  if (!lease.row.state_changed) return Status::Ok();
  AG_ASSIGN_OR_RETURN(lease.outside,
                      transaction_.GetRow<OutsideChangeRow>(keys::OutsideChange(lease.thread)));
  // The row may be left over from a state server of another build.
  if (lease.outside && lease.outside->lease_epoch != lease.row.epoch) lease.outside.reset();
  return Status::Ok();
}

Status Store::NoteOutsideChange(const std::string& thread_id, const OutsideChange& change) {
  auto found = leases_.find(thread_id);
  if (found == leases_.end()) return Status::Ok();
  Lease& lease = found->second;
  OutsideChangeRow row = lease.outside.value_or(OutsideChangeRow());
  row.lease_epoch = lease.row.epoch;
  const uint64_t behind = lease.row.entries_logged;
  for (const std::string& name : change.fields) NoteField(name, behind, row);
  if (row.fields.size() > kOutsideFieldsMax) {
    return Status(StatusCode::kResourceExhausted,
                  "too many fields were changed while a run of the thread is in flight");
  }
  if (change.summary) row.summary_behind = behind;
  if (change.everything) {
    row.all_behind = behind;
    row.fields.clear();
  }
  if (change.context_cleared) {
    row.context_cleared = true;
    row.context_restarted = false;
    row.open_calls.clear();
  }
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
  if (finish.state_unread) return Status::Ok();
  Snapshot snapshot = finish.snapshot;
  std::vector<OpenCall> open = finish.open_calls;
  if (lease.row.state_changed) {
    const OutsideChangeRow outside = lease.outside.value_or(OutsideChangeRow());
    AG_ASSIGN_OR_RETURN(const Snapshot stored, editor.ReadSnapshot());
    AG_ASSIGN_OR_RETURN(snapshot.fields_json,
                        OverlayJsonMembers(stored.fields_json, finish.snapshot.fields_json,
                                           FieldsThatStand(finish, outside)));
    const bool summary_lost = SaysWhen(finish) && IsSummaryLost(outside, finish.summary_changed_at);
    if (!finish.summary_changed || summary_lost) snapshot.summary = stored.summary;
    // A pause belongs to the context in which it was made.
    const bool context_gone = outside.context_cleared && !outside.context_restarted;
    if (context_gone && IsPaused(snapshot.execution_json)) {
      snapshot.execution_json = NarrowPause(snapshot.execution_json, {});
      open.clear();
    }
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

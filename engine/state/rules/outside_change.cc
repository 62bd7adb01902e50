#include "state/rules/outside_change.h"

#include <algorithm>

#include "state/rules/pause.h"
#include "state/rules/stored_json.h"

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
bool HasPositions(const FinishRunRequest& finish) {
  return finish.changed_at.size() == finish.changed_fields.size();
}

std::vector<std::string> FieldsThatStand(const FinishRunRequest& finish,
                                         const OutsideChangeRow& outside) {
  if (!HasPositions(finish)) return finish.changed_fields;
  std::vector<std::string> stand;
  for (size_t i = 0; i < finish.changed_fields.size(); ++i) {
    const std::string& name = finish.changed_fields[i];
    if (!IsLost(outside, name, finish.changed_at[i])) stand.push_back(name);
  }
  return stand;
}

}  // namespace

Status AddOutsideChange(const OutsideChange& change, uint64_t behind, OutsideChangeRow& row) {
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
  return Status::Ok();
}

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

Result<Snapshot> MergeFinished(const FinishRunRequest& finish, const Snapshot& stored,
                               const OutsideChangeRow& outside, std::vector<OpenCall>& open_calls) {
  Snapshot snapshot = finish.snapshot;
  AG_ASSIGN_OR_RETURN(snapshot.fields_json,
                      OverlayJsonMembers(stored.fields_json, finish.snapshot.fields_json,
                                         FieldsThatStand(finish, outside)));
  const bool summary_lost =
      HasPositions(finish) && IsSummaryLost(outside, finish.summary_changed_at);
  if (!finish.summary_changed || summary_lost) snapshot.summary = stored.summary;
  // A pause belongs to the context in which it was made.
  const bool context_gone = outside.context_cleared && !outside.context_restarted;
  if (context_gone && IsPaused(snapshot.execution_json)) {
    snapshot.execution_json = NarrowPause(snapshot.execution_json, {});
    open_calls.clear();
  }
  return snapshot;
}

}  // namespace agent_graph::state

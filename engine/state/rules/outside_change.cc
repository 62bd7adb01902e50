#include "state/rules/outside_change.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <type_traits>
#include <unordered_set>

#include "state/limits.h"
#include "state/rules/pause.h"
#include "state/rules/stored_json.h"

namespace agent_graph::state {
namespace {

constexpr size_t kOutsideFieldsMax = 10'000;
// Maximum size of all names.
constexpr size_t kOutsideNamesBytesMax = kThreadJsonBytesMax;

// Points into a list of changes, which must not grow beyond its capacity meanwhile.
template <typename Change>
using ChangesByName = std::map<std::string_view, Change*>;

template <typename Changes>
auto IndexOf(Changes& changes) {
  ChangesByName<std::remove_reference_t<decltype(changes.front())>> index;
  for (auto& change : changes) index.emplace(change.name, &change);
  return index;
}

size_t BytesOfNames(const std::vector<OutsideFieldChange>& changes) {
  size_t bytes = 0;
  for (const OutsideFieldChange& change : changes) bytes += change.name.size();
  return bytes;
}

Status NoteFields(const std::vector<std::string>& names, uint64_t behind, OutsideChangeRow& row) {
  size_t bytes = BytesOfNames(row.fields);
  row.fields.reserve(std::min(row.fields.size() + names.size(), kOutsideFieldsMax));
  auto index = IndexOf(row.fields);
  for (const std::string& name : names) {
    if (const auto found = index.find(name); found != index.end()) {
      found->second->behind = behind;
      continue;
    }
    bytes += name.size();
    if (row.fields.size() >= kOutsideFieldsMax || bytes > kOutsideNamesBytesMax) {
      return Status(StatusCode::kResourceExhausted,
                    "too many fields were changed while a run of the thread is in flight");
    }
    OutsideFieldChange& change = row.fields.emplace_back(name, behind);
    index.emplace(change.name, &change);
  }
  return Status::Ok();
}

bool IsSummaryLost(const OutsideChangeRow& outside, uint64_t at) {
  return (outside.all_behind && at < *outside.all_behind) ||
         (outside.summary_behind && at < *outside.summary_behind);
}

// True if the run reports the positions of its changes; a worker of another build does not.
bool HasPositions(const FinishRunRequest& finish) {
  return finish.changed_at.size() == finish.changed_fields.size();
}

// The changes of the run that no later change from outside has replaced.
std::vector<std::string> FieldsThatStand(const FinishRunRequest& finish,
                                         const OutsideChangeRow& outside) {
  if (!HasPositions(finish)) return finish.changed_fields;
  const auto index = IndexOf(outside.fields);
  std::vector<std::string> stand;
  for (size_t i = 0; i < finish.changed_fields.size(); ++i) {
    const std::string& name = finish.changed_fields[i];
    const uint64_t at = finish.changed_at[i];
    const auto change = index.find(name);
    const bool is_lost = (outside.all_behind && at < *outside.all_behind) ||
                         (change != index.end() && at < change->second->behind);
    if (!is_lost) stand.push_back(name);
  }
  return stand;
}

}  // namespace

Status AddOutsideChange(const OutsideChange& change, uint64_t behind, OutsideChangeRow& row) {
  AG_RETURN_IF_ERROR(NoteFields(change.fields, behind, row));
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
  const std::unordered_set<std::string_view> answered(calls.answered.begin(), calls.answered.end());
  if (!answered.empty()) {
    std::unordered_set<std::string_view> open;
    for (const std::string& id : outside.open_calls) {
      if (answered.contains(id)) open.insert(id);
    }
    if (open.size() < answered.size()) return false;
    std::erase_if(outside.open_calls, [&](const std::string& id) { return answered.contains(id); });
  }
  outside.context_restarted = true;
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

// Store: the open calls of paused threads. A pause becomes void when its open calls are gone. The
// ids of calls that were handed to a client lead it back to the thread.
#include <algorithm>

#include "state/requests.h"
#include "state/rules/pause.h"
#include "state/store/store.h"

namespace agent_graph::state {
namespace {

bool Contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

Status Store::ReplacePause(const std::string& thread_id, const keys::ThreadKey& thread,
                           std::vector<OpenCall> calls) {
  const std::string key = keys::Pause(thread);
  AG_ASSIGN_OR_RETURN(const std::optional<PauseRow> before, transaction_.GetRow<PauseRow>(key));
  if (!before && calls.empty()) return Status::Ok();
  const std::vector<std::string> waiting = WaitingCallIds(calls);
  for (const std::string& id : WaitingCallIds(before.value_or(PauseRow()).calls)) {
    if (!Contains(waiting, id)) transaction_.Delete(keys::WaitingCall(id, thread.owner, thread_id));
  }
  for (const std::string& id : waiting) {
    transaction_.PutRow(keys::WaitingCall(id, thread.owner, thread_id), thread.number);
  }
  if (calls.empty()) {
    transaction_.Delete(key);
  } else {
    transaction_.PutRow(key, PauseRow{std::move(calls)});
  }
  return Status::Ok();
}

Status Store::SettlePause(const std::string& thread_id, const ThreadRow& thread,
                          ThreadEditor& editor, const AddedMessages* added) {
  AG_ASSIGN_OR_RETURN(const std::optional<PauseRow> pause,
                      transaction_.GetRow<PauseRow>(keys::Pause(thread.key())));
  if (!pause) return Status::Ok();
  std::vector<OpenCall> open = pause->calls;
  for (size_t i = 0; added != nullptr && i < added->messages.size(); ++i) {
    const StoredMessage& message = added->messages[i];
    AG_ASSIGN_OR_RETURN(const std::optional<uint64_t> place, editor.SequenceInWindow(message.id));
    const bool is_new = place && *place >= added->first_new;
    const bool stored = is_new || added->existing == ThreadEditor::Existing::kReplace;
    if (place && stored) TakeIntoPause(message, is_new, open);
  }
  AG_RETURN_IF_ERROR(editor.KeepCallsInWindow(open));
  if (open.size() == pause->calls.size()) return Status::Ok();
  AG_ASSIGN_OR_RETURN(Snapshot snapshot, editor.ReadSnapshot());
  snapshot.execution_json = NarrowPause(snapshot.execution_json, IdsOf(open));
  editor.WriteSnapshot(snapshot);
  return ReplacePause(thread_id, thread.key(), std::move(open));
}

}  // namespace agent_graph::state

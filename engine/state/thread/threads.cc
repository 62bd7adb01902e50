#include "state/thread/threads.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "base/ids.h"
#include "state/lease_epoch.h"
#include "state/limits.h"
#include "state/rows/numbering.h"
#include "state/rules/pause.h"
#include "state/rules/stored_json.h"
#include "state/thread/metadata_index.h"

namespace agent_graph::state {
namespace {

// There is no per-owner listing of threads without an owner.
void Unlist(Transaction& transaction, const std::string& thread_id, int64_t listed_micros,
            const std::string& owner) {
  transaction.DeleteUnread(keys::Listing(listed_micros, thread_id));
  if (!owner.empty()) {
    transaction.DeleteUnread(keys::ListingByOwner(owner, listed_micros, thread_id));
  }
}

}  // namespace

Result<std::optional<ThreadRow>> FindThread(const Transaction& transaction,
                                            const std::string& thread_id) {
  return transaction.GetRow<ThreadRow>(keys::Thread(thread_id));
}

Result<ThreadRow> CreateThread(Transaction& transaction, const NewThread& thread) {
  ThreadRow row;
  AG_ASSIGN_OR_RETURN(row.number, transaction.TakeNumber(Counter::kThread, kNextThreadName));
  row.owner = thread.owner;
  row.creation_id = thread.creation_id.empty() ? NewHexId() : thread.creation_id;
  row.name = thread.name;
  row.created_micros = thread.micros;
  // A client may create a thread again after it was deleted, with the same ids of thread and run.
  // The epochs differ, so that late writes of the deleted thread's run are refused.
  row.lease_epoch = EpochBelow(row.number);
  return row;
}

void SaveThread(Transaction& transaction, const std::string& thread_id, const ThreadRow& row) {
  transaction.PutRow(keys::Thread(thread_id), row);
  IndexThread(transaction, thread_id, row);
  transaction.Note({thread_id, row.owner, row.updated_micros, row.Record(thread_id)});
}

void TouchThread(Transaction& transaction, const std::string& thread_id, ThreadRow& row,
                 int64_t micros) {
  const int64_t listed_micros = row.updated_micros;
  // Each change has a time of its own: RemoveMessages recognizes by it that nothing has changed.
  row.updated_micros = std::max(micros, listed_micros + 1);
  // A new thread is not in a listing yet.
  if (listed_micros != 0) Unlist(transaction, thread_id, listed_micros, row.owner);
  transaction.PutUnread(keys::Listing(row.updated_micros, thread_id), {});
  if (!row.owner.empty()) {
    transaction.PutUnread(keys::ListingByOwner(row.owner, row.updated_micros, thread_id), {});
  }
  transaction.PutRow(keys::Thread(thread_id), row);
  IndexThread(transaction, thread_id, row);
  transaction.Note({thread_id, row.owner, listed_micros, row.Record(thread_id)});
}

void DeleteThreadRows(Transaction& transaction, const std::string& thread_id,
                      const ThreadRow& row) {
  // Remove the lookup rows now: they must not lead to a deleted thread. A row that cannot be read
  // names no calls.
  if (auto pause = transaction.GetRow<PauseRow>(keys::Pause(row.key())); pause.ok() && *pause) {
    for (const std::string& call_id : WaitingCallIds((*pause)->calls)) {
      transaction.Delete(keys::WaitingCall(call_id, row.owner, thread_id));
    }
  }
  transaction.Delete(keys::Thread(thread_id));
  Unlist(transaction, thread_id, row.updated_micros, row.owner);
  UnindexThread(transaction, thread_id, row);
  transaction.Put(keys::Deleted(row.key()), {});
  transaction.Note({thread_id, row.owner, row.updated_micros, std::nullopt});
}

ThreadEditor::ThreadEditor(Transaction& transaction, keys::ThreadKey thread)
    : transaction_(transaction), thread_(std::move(thread)) {}

Status ThreadEditor::LoadCounters() {
  if (counters_) return Status::Ok();
  AG_ASSIGN_OR_RETURN(counters_, transaction_.GetRow<CountersRow>(keys::Counters(thread_)));
  if (!counters_) counters_.emplace();
  had_messages_ = counters_->next_sequence != 1;
  return Status::Ok();
}

Status ThreadEditor::LoadWindow() {
  if (window_) return Status::Ok();
  AG_ASSIGN_OR_RETURN(window_, transaction_.GetRow<WindowRow>(keys::Window(thread_)));
  if (!window_) window_.emplace();
  return Status::Ok();
}

Status ThreadEditor::AppendLog(std::vector<LogEntry> entries, uint64_t lease_epoch,
                               int64_t micros) {
  if (entries.empty()) return Status::Ok();
  AG_RETURN_IF_ERROR(LoadCounters());
  LogRow row{std::move(entries), lease_epoch};
  for (LogEntry& entry : row.entries) {
    if (entry.micros == 0) entry.micros = micros;
    if (entry.kind == kRunStarted) MarkRun(counters_->next_log_index);
  }
  counters_->next_log_index += row.entries.size();
  std::string bytes = pack::ToBytes(row);
  logged_bytes_ += bytes.size();
  counters_->log_bytes_since += bytes.size();
  transaction_.PutUnread(keys::LogEntry(thread_, counters_->next_log_index - 1), std::move(bytes));
  return Status::Ok();
}

Result<uint64_t> ThreadEditor::NextLogIndex() {
  AG_RETURN_IF_ERROR(LoadCounters());
  return counters_->next_log_index;
}

// `index` is the log index of the row's first entry that starts a run.
void ThreadEditor::MarkRun(uint64_t index) {
  std::vector<uint64_t>& marks = counters_->log_marks;
  if (!marks.empty() && ++counters_->runs_since_mark < kRunsPerMark) return;
  counters_->runs_since_mark = 0;
  marks.push_back(index);
  has_new_mark_ = true;
}

std::vector<uint64_t> ThreadEditor::CuttableMarks(int64_t old_micros, uint64_t bytes_max) const {
  if (!has_new_mark_) return {};
  const size_t marks = counters_->log_marks.size();
  if (marks <= 1 + kRunsKept / kRunsPerMark) return {};
  // The log may be larger than its bound by this share.
  constexpr uint64_t kShareUnread = 8;
  const bool may_be_cut = marks > kLogMarksMax || counters_->oldest_ended_micros <= old_micros ||
                          counters_->log_bytes_since >= bytes_max / kShareUnread;
  return may_be_cut ? counters_->log_marks : std::vector<uint64_t>();
}

void ThreadEditor::NoteKept(int64_t oldest_ended_micros) {
  counters_->log_bytes_since = 0;
  counters_->oldest_ended_micros = oldest_ended_micros;
}

Status ThreadEditor::CutLog() {
  std::vector<uint64_t>& marks = counters_->log_marks;
  const uint64_t oldest = marks.front();
  marks.erase(marks.begin());
  // Extends an earlier cut that has not been swept. The first cut also covers entries of older
  // builds, which set no marks.
  const std::string key = keys::LogCut(thread_);
  // A host of an older build sweeps the entries of the earlier cut and deletes its row under this
  // lock; see postgres/row_sweep.h for others.
  AG_RETURN_IF_ERROR(transaction_.Lock(key));
  AG_ASSIGN_OR_RETURN(std::optional<LogCutRow> cut, transaction_.GetRow<LogCutRow>(key));
  if (!cut) cut = LogCutRow{counters_->log_is_cut ? oldest : 0, 0};
  cut->to = marks.front();
  counters_->log_is_cut = true;
  transaction_.PutRow(key, *cut);
  return Status::Ok();
}

Result<std::optional<uint64_t>> ThreadEditor::StoreMessage(const StoredMessage& message,
                                                           Existing existing) {
  if (message.id.empty()) return Status(StatusCode::kInvalidArgument, "a message has no id");
  AG_RETURN_IF_ERROR(LoadCounters());
  const std::string id_key = keys::MessageId(thread_, message.id);
  std::optional<uint64_t> known;
  // A thread that had no messages has no such row, so the read can be skipped.
  if (had_messages_ || transaction_.Stages(id_key)) {
    AG_ASSIGN_OR_RETURN(known, transaction_.GetRow<uint64_t>(id_key));
  }
  if (known && existing == Existing::kKeep) return std::optional<uint64_t>();
  const uint64_t sequence = known ? *known : counters_->next_sequence++;
  if (known) {
    ++counters_->replacements;
  } else {
    ++counters_->messages;
    transaction_.PutRow(id_key, sequence);
  }
  transaction_.PutUnread(keys::Message(thread_, sequence),
                         pack::ToBytes(MessageRow{message.id, message.json}));
  return std::optional<uint64_t>(sequence);
}

Status ThreadEditor::AddMessages(const std::vector<StoredMessage>& messages, Existing existing) {
  if (messages.empty()) return Status::Ok();
  AG_RETURN_IF_ERROR(LoadWindow());
  for (const StoredMessage& message : messages) {
    AG_ASSIGN_OR_RETURN(const std::optional<uint64_t> sequence, StoreMessage(message, existing));
    if (!sequence) continue;
    PutInWindow(*sequence, IsFromUser(message.json));
    window_changed_ = true;
  }
  TrimWindow(*window_, kWindowItemsMax);
  return Status::Ok();
}

Status ThreadEditor::AddToHistory(const StoredMessage& message) {
  return StoreMessage(message, Existing::kKeep).status();
}

Result<uint64_t> ThreadEditor::NextSequence() {
  AG_RETURN_IF_ERROR(LoadCounters());
  return counters_->next_sequence;
}

Result<std::optional<uint64_t>> ThreadEditor::SequenceInWindow(const std::string& message_id) {
  AG_ASSIGN_OR_RETURN(std::optional<uint64_t> sequence,
                      transaction_.GetRow<uint64_t>(keys::MessageId(thread_, message_id)));
  if (!sequence) return std::optional<uint64_t>();
  AG_RETURN_IF_ERROR(LoadWindow());
  const bool there =
      std::ranges::binary_search(window_->items, *sequence, std::less(), &WindowRow::Sequence);
  return there ? sequence : std::optional<uint64_t>();
}

Status ThreadEditor::KeepCallsInWindow(std::vector<OpenCall>& calls) {
  std::vector<OpenCall> kept;
  for (OpenCall& call : calls) {
    bool carried = true;
    for (const std::string& message_id : call.message_ids) {
      AG_ASSIGN_OR_RETURN(const std::optional<uint64_t> place, SequenceInWindow(message_id));
      carried = carried && place.has_value();
    }
    if (carried) kept.push_back(std::move(call));
  }
  calls = std::move(kept);
  return Status::Ok();
}

void ThreadEditor::PutInWindow(uint64_t sequence, bool from_user) {
  auto& items = window_->items;
  const uint64_t item = WindowRow::Item(sequence, from_user);
  auto place = items.end();
  if (!items.empty() && WindowRow::Sequence(items.back()) >= sequence) {
    place = std::lower_bound(items.begin(), items.end(), WindowRow::Item(sequence, false));
  }
  if (place != items.end() && WindowRow::Sequence(*place) == sequence) {
    *place = item;
  } else {
    items.insert(place, item);
  }
}

Result<bool> ThreadEditor::DeleteMessage(const std::string& message_id) {
  const std::string id_key = keys::MessageId(thread_, message_id);
  AG_ASSIGN_OR_RETURN(std::optional<uint64_t> sequence, transaction_.GetRow<uint64_t>(id_key));
  if (!sequence) return false;
  AG_RETURN_IF_ERROR(LoadCounters());
  AG_RETURN_IF_ERROR(LoadWindow());
  transaction_.Delete(id_key);
  transaction_.Delete(keys::Message(thread_, *sequence));
  --counters_->messages;
  std::erase_if(window_->items,
                [&](uint64_t item) { return WindowRow::Sequence(item) == *sequence; });
  window_changed_ = true;
  return true;
}

Status ThreadEditor::TrimWindowTo(uint64_t items_max) {
  AG_RETURN_IF_ERROR(LoadWindow());
  const size_t before = window_->items.size();
  TrimWindow(*window_, items_max);
  if (window_->items.size() != before) window_changed_ = true;
  return Status::Ok();
}

Result<KnownWindow> ThreadEditor::WholeWindow() {
  AG_RETURN_IF_ERROR(LoadCounters());
  AG_RETURN_IF_ERROR(LoadWindow());
  const std::vector<uint64_t>& items = window_->items;
  return KnownWindow{.thread_number = thread_.number,
                     .version = counters_->window_version(),
                     .through = items.empty() ? 0 : WindowRow::Sequence(items.back())};
}

Status ThreadEditor::Forget(const ForgottenMessages& forgotten) {
  if (forgotten.through == 0 && forgotten.ids.empty()) return Status::Ok();
  AG_RETURN_IF_ERROR(LoadWindow());
  std::unordered_set<uint64_t> own;
  for (const std::string& id : forgotten.ids) {
    AG_ASSIGN_OR_RETURN(std::optional<uint64_t> sequence,
                        transaction_.GetRow<uint64_t>(keys::MessageId(thread_, id)));
    if (sequence) own.insert(*sequence);
  }
  std::erase_if(window_->items, [&](uint64_t item) {
    const uint64_t sequence = WindowRow::Sequence(item);
    return sequence <= forgotten.through || own.contains(sequence);
  });
  window_changed_ = true;
  return Status::Ok();
}

Result<Snapshot> ThreadEditor::ReadSnapshot() const {
  AG_ASSIGN_OR_RETURN(std::optional<Snapshot> snapshot,
                      transaction_.GetRow<Snapshot>(keys::Snapshot(thread_)));
  return snapshot ? std::move(*snapshot) : Snapshot();
}

void ThreadEditor::WriteSnapshot(const Snapshot& snapshot) {
  transaction_.PutRow(keys::Snapshot(thread_), snapshot);
}

void ThreadEditor::Save() {
  if (counters_) transaction_.PutRow(keys::Counters(thread_), *counters_);
  if (window_changed_) transaction_.PutRow(keys::Window(thread_), *window_);
}

}  // namespace agent_graph::state

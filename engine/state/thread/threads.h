// Changes of conversation threads, staged in a Transaction by the write thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "state/requests.h"
#include "state/rows/rows.h"
#include "state/rows/transaction.h"
#include "state/types.h"

namespace agent_graph::state {

// Returns a thread's record, whoever owns it; nullopt if there is none.
Result<std::optional<ThreadRow>> FindThread(const Transaction& transaction,
                                            const std::string& thread_id);

struct NewThread {
  std::string thread_id;
  std::string owner;
  std::string creation_id;  // empty: generated
  std::string name;
  int64_t micros = 0;
};
// Assigns the next number and returns the record of a new thread; TouchThread saves it.
Result<ThreadRow> CreateThread(Transaction& transaction, const NewThread& thread);

// Writes the record; the thread keeps its position in the listings.
void SaveThread(Transaction& transaction, const std::string& thread_id, const ThreadRow& row);

// Writes the record and moves the thread to the front of the listings.
void TouchThread(Transaction& transaction, const std::string& thread_id, ThreadRow& row,
                 int64_t micros);

// Deletes the record; the sweep deletes the rows below its number later.
void DeleteThreadRows(Transaction& transaction, const std::string& thread_id, const ThreadRow& row);

// Changes the log, messages, window and snapshot of one thread. Save stages the changes.
class ThreadEditor {
 public:
  ThreadEditor(Transaction& transaction, keys::ThreadKey thread);

  // `lease_epoch`: of the run that appends them. Entries without a time get `micros`.
  Status AppendLog(std::vector<LogEntry> entries, uint64_t lease_epoch, int64_t micros);
  // Index that the next entry will have.
  Result<uint64_t> NextLogIndex();
  // Size of the entries that this editor has appended.
  uint64_t logged_bytes() const { return logged_bytes_; }
  // The indexes at which the log can be cut, oldest first, if a mark was added now and the log may
  // be beyond a bound: it has too many runs, its first ones ended before `old_micros`, or it has
  // too many bytes. Empty: it is not. The caller reads all kept runs to find out, and then calls
  // NoteKept.
  std::vector<uint64_t> CuttableMarks(int64_t old_micros, uint64_t bytes_max) const;
  // `oldest_ended_micros`: latest end of the runs before the second of the remaining marks.
  void NoteKept(int64_t oldest_ended_micros);
  // Leaves the entries before the second mark for SweepCutLog.
  Status CutLog();
  enum class Existing { kKeep, kReplace };
  // Appends to history and window. A message whose id exists keeps its position; it is left
  // unchanged (kKeep), or gets the new content and is put in the window (kReplace).
  Status AddMessages(const std::vector<StoredMessage>& messages, Existing existing);
  // Adds to the history only. A message whose id exists is left unchanged.
  Status AddToHistory(const StoredMessage& message);
  // The sequence number of the next new message.
  Result<uint64_t> NextSequence();
  // Returns the message's sequence number; nullopt if it is not in the window.
  Result<std::optional<uint64_t>> SequenceInWindow(const std::string& message_id);
  // Removes calls that have a message outside of the window.
  Status KeepCallsInWindow(std::vector<OpenCall>& calls);
  // Returns false if there is no such message.
  Result<bool> DeleteMessage(const std::string& message_id);
  void ClearWindow() {
    window_.emplace();
    window_changed_ = true;
  }
  Status TrimWindowTo(uint64_t items_max);
  // The window as a client knows it that loads all of it now; `through` is 0 if it is empty.
  Result<KnownWindow> WholeWindow();
  // Removes messages from the window only.
  Status Forget(const ForgottenMessages& forgotten);

  Result<Snapshot> ReadSnapshot() const;
  void WriteSnapshot(const Snapshot& snapshot);

  void Save();

 private:
  Status LoadCounters();
  Status LoadWindow();
  void MarkRun(uint64_t index);
  // Returns the sequence number; nullopt if the message already existed and was left unchanged.
  Result<std::optional<uint64_t>> StoreMessage(const StoredMessage& message, Existing existing);
  void PutInWindow(uint64_t sequence, bool from_user);

  Transaction& transaction_;
  keys::ThreadKey thread_;
  std::optional<CountersRow> counters_;
  std::optional<WindowRow> window_;
  bool window_changed_ = false;
  bool had_messages_ = false;  // before this editor's changes
  bool has_new_mark_ = false;
  uint64_t logged_bytes_ = 0;
};

}  // namespace agent_graph::state

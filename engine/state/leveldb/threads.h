// The rows of conversation threads as the write thread changes them, staged in a Transaction.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "state/leveldb/rows.h"
#include "state/leveldb/transaction.h"
#include "state/types.h"

namespace agent_graph::state {

// The record of a thread whoever owns it; nullopt when there is none.
Result<std::optional<ThreadRow>> FindThread(const Transaction& transaction,
                                            const std::string& thread_id);

struct NewThread {
  std::string thread_id;
  std::string owner;
  std::string creation_id;  // empty: generated
  std::string name;
  int64_t micros = 0;
};
Result<ThreadRow> CreateThread(Transaction& transaction, const NewThread& thread);

// Writes the record; the listings keep the thread where it is.
void SaveThread(Transaction& transaction, const std::string& thread_id, const ThreadRow& row);

// Writes the record and moves the thread to the head of the listings.
void TouchThread(Transaction& transaction, const std::string& thread_id, ThreadRow& row,
                 int64_t micros);

// Forgets the record; everything below its number is left for SweepDeletedThread.
void DeleteThread(Transaction& transaction, const std::string& thread_id, const ThreadRow& row);

// How far the rows of a deleted thread have been swept: what is deleted already would otherwise be
// passed over again by each portion.
struct SweepPosition {
  keys::ThreadKey thread;
  size_t table = 0;
  std::string from;  // empty: the first row of the table
};

// Deletes up to `rows_max` rows of one deleted thread. False when no deleted thread is left. When
// it fails `position` must be forgotten.
Result<bool> SweepDeletedThread(const Database& database, Transaction& transaction, size_t rows_max,
                                SweepPosition& position);

// Deletes up to `rows_max` log rows that were cut off. False when there is nothing left to cut.
Result<bool> SweepCutLog(const Database& database, Transaction& transaction, size_t rows_max);

// Changes the log, messages, window and snapshot of one thread. Save stages what has changed.
class ThreadEditor {
 public:
  ThreadEditor(Transaction& transaction, keys::ThreadKey thread);

  // Entries without a time get `micros`.
  Status AppendLog(const std::vector<LogEntry>& entries, int64_t micros);
  // It left entries for SweepCutLog.
  bool has_cut_log() const { return has_cut_log_; }
  enum class Existing { kKeep, kReplace };
  // Appends to history and window. A message whose id exists stays where it is and is left alone,
  // or gets the new content and a place in the window.
  Status AddMessages(const std::vector<StoredMessage>& messages, Existing existing);
  // To history only. One whose id exists is left alone.
  Status AddToHistory(const StoredMessage& message);
  // The place that the next new message gets.
  Result<uint64_t> NextSequence();
  // Its place; nullopt for a message that is not in the window.
  Result<std::optional<uint64_t>> SequenceInWindow(const std::string& message_id);
  // Leaves out the calls of which a message is not in the window.
  Status KeepCallsInWindow(std::vector<OpenCall>& calls);
  // False when there is no such message.
  Result<bool> DeleteMessage(const std::string& message_id);
  void ClearWindow() {
    window_.emplace();
    window_changed_ = true;
  }
  Status TrimWindowTo(uint64_t items_max);
  // Takes messages out of the window only.
  Status Forget(const ForgottenMessages& forgotten);

  Result<Snapshot> ReadSnapshot() const;
  void WriteSnapshot(const Snapshot& snapshot);

  void Save();

 private:
  Status LoadCounters();
  Status LoadWindow();
  Status MarkRun(uint64_t index);
  // Its place; nullopt when it was there already and stays as it was.
  Result<std::optional<uint64_t>> StoreMessage(const StoredMessage& message, Existing existing);
  void PutInWindow(uint64_t sequence, bool from_user);

  Transaction& transaction_;
  keys::ThreadKey thread_;
  std::optional<CountersRow> counters_;
  std::optional<WindowRow> window_;
  bool window_changed_ = false;
  bool had_messages_ = false;  // before this editor
  bool has_cut_log_ = false;
};

}  // namespace agent_graph::state

// The write thread's batch: the changes of one group commit so far.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "state/pack/fields.h"
#include "state/rows/database.h"
#include "state/rows/key_ranges.h"
#include "state/types.h"

namespace agent_graph::state {

// A thread's record was written or deleted; used to update caches after the commit.
struct ThreadChange {
  std::string thread_id;
  std::string owner;
  int64_t listed_micros = 0;  // previous position in the listings; 0: none
  std::optional<ThreadRecord> record;
};

// For one thread only. An operation stages its changes; Accept keeps them and Reject drops them, so
// that a failed operation leaves nothing behind. Commit writes all accepted changes at once.
class Transaction {
 public:
  // `indexed_metadata`: see StateOptions.
  explicit Transaction(Database& database, std::vector<std::string> indexed_metadata = {});
  ~Transaction();

  const std::vector<std::string>& indexed_metadata() const { return indexed_metadata_; }

  // Returns the row with this batch's changes. Recently written rows come from a cache, because no
  // other thread writes them.
  Result<std::optional<std::string>> Get(const std::string& key) const;
  // Keeps other hosts from using the row until the commit, if they lock it too. For rows that are
  // also changed without the lock of their thread. May block.
  Status Lock(const std::string& key);
  void Put(std::string key, std::string value);
  void Delete(std::string key);
  // The caller knows that there is no such row: Get does not look for it in the database.
  void NoteAbsent(std::string key) { accepted_.try_emplace(std::move(key), std::nullopt); }
  // For rows that the write thread never reads (message bodies, log entries, listings, kept
  // replies). They are written before the operation's other changes.
  void PutUnread(std::string key, std::string value);
  void DeleteUnread(std::string key);
  // Returns the accepted rows of PutUnread and Put below `prefix` that are not committed yet,
  // sorted by key. Reads the whole batch.
  std::vector<std::pair<std::string, std::string>> UncommittedRows(std::string_view prefix) const;
  // Records a change that others must learn of after the commit.
  void Note(ThreadChange change) { staged_threads_.push_back(std::move(change)); }
  std::vector<ThreadChange> TakeNoted() { return std::exchange(accepted_threads_, {}); }

  template <typename Row>
  Result<std::optional<Row>> GetRow(const std::string& key) const {
    AG_ASSIGN_OR_RETURN(std::optional<std::string> bytes, Get(key));
    if (!bytes) return std::optional<Row>();
    Row row;
    if (!pack::FromBytes(*bytes, row)) {
      return Status(StatusCode::kDataLoss, "stored state cannot be read back");
    }
    return std::optional<Row>(std::move(row));
  }
  template <typename Row>
  void PutRow(std::string key, const Row& row) {
    Put(std::move(key), pack::ToBytes(row));
  }

  // Returns a number that was never taken before. `name`: the Meta row of the counter.
  Result<uint64_t> TakeNumber(Counter counter, const char* name);

  // `sync`: the operation needs an fsync before its reply.
  void Accept(bool sync);
  void Reject();

  // True if the current operation has put or deleted this row.
  bool Stages(const std::string& key) const { return staged_.contains(key); }
  bool has_staged() const { return !(staged_.empty() && staged_unread_.empty()); }
  bool empty() const { return committed_changes_ == 0; }
  size_t bytes() const;
  // Returns the key ranges in which rows were deleted while the disk was full, or soon after that.
  KeyRanges TakeDeletedRanges() { return std::exchange(deleted_, {}); }
  // Writes the accepted changes. The batch is empty afterwards, also on failure.
  Status Commit();
  // True if an operation needs an fsync before its reply.
  bool needs_sync() const { return sync_; }
  // The same, but the operations that need an fsync have to wait for Database::SyncWritten.
  Status CommitBeforeSync();

 private:
  using Changes = std::unordered_map<std::string, std::optional<std::string>>;
  struct Numbers {  // from `next` on, and below `end`
    uint64_t next = 0;
    uint64_t end = 0;
  };

  Database& database_;
  const std::vector<std::string> indexed_metadata_;
  Status Write(WriteSync sync);
  void ForgetOldRows();
  bool NotesDeleted();

  Changes staged_;
  std::vector<std::pair<std::string, std::optional<std::string>>> staged_unread_;
  std::vector<ThreadChange> staged_threads_;
  std::vector<ThreadChange> accepted_threads_;
  Changes accepted_;  // changed by this batch and by those before it
  size_t accepted_bytes_ = 0;
  Changes older_;                                        // rows of the older cache generation
  std::map<std::string, Numbers, std::less<>> numbers_;  // by name of the counter
  std::unique_ptr<RowBatch> batch_;
  KeyRanges deleted_;
  std::optional<Deadline> notes_deleted_until_;
  size_t committed_changes_ = 0;
  bool sync_ = false;
};

}  // namespace agent_graph::state

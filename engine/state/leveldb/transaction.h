// The write thread's batch: what the operations of one group commit have changed so far.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "state/leveldb/database.h"
#include "state/pack/fields.h"
#include "state/types.h"

namespace agent_graph::state {

// A thread's record was written, or deleted: what follows from it is kept elsewhere, too.
struct ThreadChange {
  std::string thread_id;
  std::string owner;
  int64_t listed_micros = 0;  // where the listings had it before; 0: nowhere
  std::optional<ThreadRecord> record;
};

// Single-threaded. Changes of an operation are staged; Accept keeps them, Reject forgets them, so
// that an operation that fails halfway leaves nothing. Commit writes all accepted ones at once.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();

  // The row as this batch will leave it. Rows that were written lately are not read from the
  // database: nobody else writes there.
  Result<std::optional<std::string>> Get(const std::string& key) const;
  void Put(const std::string& key, std::string value);
  void Delete(const std::string& key);
  // For rows that the write thread never reads (bodies of messages, log entries, listings, kept
  // answers); written before what else the operation does.
  void PutUnread(std::string key, std::string value);
  // To be known after the commit.
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
  void PutRow(const std::string& key, const Row& row) {
    Put(key, pack::ToBytes(row));
  }

  // `sync`: the operation asks for an fsync before its reply.
  void Accept(bool sync);
  void Reject();

  // The operation in progress has put or deleted this row.
  bool Stages(const std::string& key) const { return staged_.contains(key); }
  bool has_staged() const { return !(staged_.empty() && staged_unread_.empty()); }
  bool empty() const { return committed_changes_ == 0; }
  size_t bytes() const;
  // Ranges of keys in which rows were deleted while the disk was full, one for each table of rows;
  // each has its first and last key.
  std::vector<std::pair<std::string, std::string>> TakeDeletedRanges();
  // Nothing is kept whatever the outcome.
  Status Commit();

 private:
  using Changes = std::unordered_map<std::string, std::optional<std::string>>;
  struct Batch;

  Database& database_;
  void ForgetOldRows();
  void NoteDeleted(const std::string& key);

  Changes staged_;
  std::vector<std::pair<std::string, std::string>> staged_unread_;
  std::vector<ThreadChange> staged_threads_;
  std::vector<ThreadChange> accepted_threads_;
  Changes accepted_;  // by this batch and by the latest before it
  size_t accepted_bytes_ = 0;
  Changes older_;  // committed, and not changed since
  std::unique_ptr<Batch> batch_;
  std::map<char, std::pair<std::string, std::string>> deleted_ranges_;  // by first byte
  size_t committed_changes_ = 0;
  bool sync_ = false;
};

}  // namespace agent_graph::state

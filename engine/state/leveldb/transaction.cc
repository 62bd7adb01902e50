#include "state/leveldb/transaction.h"

#include <leveldb/write_batch.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace agent_graph::state {
namespace {

// Size of one generation of the row cache. Two generations are kept; between two commits there may
// be more.
constexpr size_t kRowsKept = 8192;
constexpr size_t kRowBytesKept = 4 * 1024 * 1024;

}  // namespace

struct Transaction::Batch {
  leveldb::WriteBatch writes;
};

namespace {

class RowsBelow : public leveldb::WriteBatch::Handler {
 public:
  explicit RowsBelow(std::string_view prefix) : prefix_(prefix) {}

  void Put(const leveldb::Slice& key, const leveldb::Slice& value) override {
    if (key.starts_with({prefix_.data(), prefix_.size()})) {
      rows_.insert_or_assign(key.ToString(), value.ToString());
    }
  }
  void Delete(const leveldb::Slice& key) override { rows_.erase(key.ToString()); }

  std::vector<std::pair<std::string, std::string>> Take() && {
    return {std::make_move_iterator(rows_.begin()), std::make_move_iterator(rows_.end())};
  }

 private:
  const std::string_view prefix_;
  std::map<std::string, std::string> rows_;
};

}  // namespace

Transaction::Transaction(Database& database, std::vector<std::string> indexed_metadata)
    : database_(database),
      indexed_metadata_(std::move(indexed_metadata)),
      batch_(std::make_unique<Batch>()) {}
Transaction::~Transaction() = default;

Result<std::optional<std::string>> Transaction::Get(const std::string& key) const {
  if (auto found = staged_.find(key); found != staged_.end()) return found->second;
  if (auto found = accepted_.find(key); found != accepted_.end()) return found->second;
  if (auto found = older_.find(key); found != older_.end()) return found->second;
  return database_.Get(key, nullptr);
}

void Transaction::Put(const std::string& key, std::string value) {
  staged_.insert_or_assign(key, std::move(value));
}

void Transaction::Delete(const std::string& key) {
  staged_.insert_or_assign(key, std::nullopt);
}

void Transaction::PutUnread(std::string key, std::string value) {
  staged_unread_.emplace_back(std::move(key), std::move(value));
}

std::vector<std::pair<std::string, std::string>> Transaction::UncommittedRows(
    std::string_view prefix) const {
  RowsBelow rows(prefix);
  if (!empty() && !batch_->writes.Iterate(&rows).ok()) return {};
  return std::move(rows).Take();
}

void Transaction::Accept(bool sync) {
  committed_changes_ += staged_.size() + staged_unread_.size();
  sync_ = sync_ || (sync && has_staged());
  const bool low_on_space = database_.low_on_space();
  for (auto& [key, value] : staged_unread_) batch_->writes.Put(key, value);
  for (auto& [key, value] : staged_) {
    if (value) {
      batch_->writes.Put(key, *value);
    } else {
      batch_->writes.Delete(key);
      if (low_on_space) NoteDeleted(key);
    }
  }
  // Moves the nodes; a newer change of the same row replaces the older one.
  for (auto it = staged_.begin(); it != staged_.end();) {
    auto node = staged_.extract(it++);
    accepted_bytes_ += node.key().size() + (node.mapped() ? node.mapped()->size() : 0);
    auto existing = accepted_.find(node.key());
    if (existing != accepted_.end()) {
      existing->second = std::move(node.mapped());
    } else {
      accepted_.insert(std::move(node));
    }
  }
  staged_unread_.clear();
  std::ranges::move(staged_threads_, std::back_inserter(accepted_threads_));
  staged_threads_.clear();
}

void Transaction::Reject() {
  staged_.clear();
  staged_threads_.clear();
  staged_unread_.clear();
}

size_t Transaction::bytes() const {
  return batch_->writes.ApproximateSize();
}

Status Transaction::Commit() {
  Reject();
  Status status = empty() ? Status::Ok() : database_.Write(batch_->writes, sync_);
  batch_->writes.Clear();
  committed_changes_ = 0;
  sync_ = false;
  ForgetOldRows();
  return status;
}

void Transaction::NoteDeleted(const std::string& key) {
  auto [range, added] = deleted_ranges_.try_emplace(key[0], key, key);
  if (added) return;
  if (key < range->second.first) range->second.first = key;
  if (key > range->second.second) range->second.second = key;
}

std::vector<std::pair<std::string, std::string>> Transaction::TakeDeletedRanges() {
  std::vector<std::pair<std::string, std::string>> ranges;
  for (auto& [table, range] : std::exchange(deleted_ranges_, {})) {
    ranges.push_back(std::move(range));
  }
  return ranges;
}

void Transaction::ForgetOldRows() {
  if (accepted_.size() < kRowsKept && accepted_bytes_ < kRowBytesKept) return;
  older_ = std::exchange(accepted_, {});
  accepted_bytes_ = 0;
}

}  // namespace agent_graph::state

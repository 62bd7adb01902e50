#include "state/rows/transaction.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "state/rows/keys.h"

namespace agent_graph::state {
namespace {

// Size of one generation of the row cache. Two generations are kept; between two commits there may
// be more.
constexpr size_t kRowsKept = 8192;
constexpr size_t kRowBytesKept = 4 * 1024 * 1024;
// Numbers are reserved in blocks, so that most new threads need not write the counter. A restart
// skips the unused rest of a block.
constexpr uint64_t kNumbersReserved = 64;
// A disk that was full is likely to be full again: the first deletions free a little space, which
// compactions for the next ones use up.
constexpr std::chrono::minutes kNotedAfterFull{1};

}  // namespace

Transaction::Transaction(Database& database, std::vector<std::string> indexed_metadata)
    : database_(database),
      indexed_metadata_(std::move(indexed_metadata)),
      batch_(database_.NewBatch()) {}
Transaction::~Transaction() = default;

Result<std::optional<std::string>> Transaction::Get(const std::string& key) const {
  if (auto found = staged_.find(key); found != staged_.end()) return found->second;
  if (auto found = accepted_.find(key); found != accepted_.end()) return found->second;
  if (auto found = older_.find(key); found != older_.end()) return found->second;
  return database_.Get(key);
}

Status Transaction::Lock(const std::string& key) {
  BatchUse use;
  use.keys.push_back(key);
  return database_.Prepare(use);
}

void Transaction::Put(std::string key, std::string value) {
  staged_.insert_or_assign(std::move(key), std::move(value));
}

void Transaction::Delete(std::string key) {
  staged_.insert_or_assign(std::move(key), std::nullopt);
}

void Transaction::PutUnread(std::string key, std::string value) {
  staged_unread_.emplace_back(std::move(key), std::move(value));
}

void Transaction::DeleteUnread(std::string key) {
  staged_unread_.emplace_back(std::move(key), std::nullopt);
}

std::vector<std::pair<std::string, std::string>> Transaction::UncommittedRows(
    std::string_view prefix) const {
  std::map<std::string, std::string> rows;
  if (empty()) return {};
  batch_->ForEach([&](std::string_view key, std::optional<std::string_view> value) {
    if (!key.starts_with(prefix)) return;
    if (value) {
      rows.insert_or_assign(std::string(key), std::string(*value));
    } else {
      rows.erase(std::string(key));
    }
  });
  return {std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end())};
}

Result<uint64_t> Transaction::TakeNumber(Counter counter, const char* name) {
  if (std::optional<Result<uint64_t>> number = database_.TakeNumber(counter)) {
    return *std::move(number);
  }
  Numbers& reserved = numbers_[name];
  if (reserved.next == reserved.end) {
    const std::string key = keys::Meta(name);
    AG_ASSIGN_OR_RETURN(const std::optional<uint64_t> next, GetRow<uint64_t>(key));
    reserved.next = next.value_or(1);
    reserved.end = reserved.next + kNumbersReserved;
    // Written even if the operation fails, so that no number is assigned twice.
    std::string row = pack::ToBytes(reserved.end);
    batch_->Put(key, row);
    ++committed_changes_;
    accepted_.insert_or_assign(key, std::move(row));
  }
  return reserved.next++;
}

void Transaction::Accept(bool sync) {
  committed_changes_ += staged_.size() + staged_unread_.size();
  sync_ = sync_ || (sync && has_staged());
  if (database_.low_on_space()) notes_deleted_until_ = DeadlineAfter(kNotedAfterFull);
  const bool notes_deleted = NotesDeleted();
  const auto write = [&](const auto& change) {
    const auto& [key, value] = change;
    if (value) return batch_->Put(key, *value);
    batch_->Delete(key);
    if (notes_deleted) deleted_.Add(key);
  };
  std::ranges::for_each(staged_unread_, write);
  std::ranges::for_each(staged_, write);
  // Moves the nodes; a newer change of the same row replaces the older one.
  for (auto it = staged_.begin(); it != staged_.end();) {
    auto node = staged_.extract(it++);
    accepted_bytes_ += node.key().size() + (node.mapped() ? node.mapped()->size() : 0);
    auto added = accepted_.insert(std::move(node));
    if (!added.inserted) added.position->second = std::move(added.node.mapped());
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
  return batch_->bytes();
}

Status Transaction::Commit() {
  return Write(sync_ ? WriteSync::kNow : WriteSync::kNone);
}

Status Transaction::CommitBeforeSync() {
  return Write(WriteSync::kLater);
}

Status Transaction::Write(WriteSync sync) {
  Reject();
  Status status = empty() ? database_.EndBatch() : database_.WriteRows(*batch_, sync);
  batch_->Clear();
  committed_changes_ = 0;
  sync_ = false;
  ForgetOldRows();
  return status;
}

bool Transaction::NotesDeleted() {
  if (!notes_deleted_until_) return false;
  if (MonotonicClock::now() >= *notes_deleted_until_) notes_deleted_until_.reset();
  return notes_deleted_until_.has_value();
}

void Transaction::ForgetOldRows() {
  // Other hosts may change the rows between two batches.
  if (!database_.instance().empty()) {
    accepted_.clear();
    accepted_bytes_ = 0;
    return;
  }
  if (accepted_.size() < kRowsKept && accepted_bytes_ < kRowBytesKept) return;
  older_ = std::exchange(accepted_, {});
  accepted_.reserve(older_.size());
  accepted_bytes_ = 0;
}

}  // namespace agent_graph::state

#include "state/search/memory_index.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/free_memory.h"
#include "state/limits.h"
#include "state/rules/memories.h"
#include "state/rules/scope.h"
#include "state/rules/stopping.h"
#include "state/search/index_files.h"

namespace agent_graph::state {
namespace {

// Estimated bytes of an entry without its partition.
constexpr size_t kEntryBytes = 1024;

// Memories that are read in one round trip, if the rows are in another process.
constexpr size_t kReadAtOnce = 64;

size_t DimensionsOf(const Embedding& embedding) {
  return embedding.values.size() / sizeof(float);
}

// Only vectors of the same space and length can be compared.
bool Serves(const Partition& partition, const Embedding& wanted) {
  return wanted.values.empty() ||
         (wanted.space == partition.space() && DimensionsOf(wanted) == partition.dimensions());
}

Status TooManyMemories() {
  return Status(StatusCode::kResourceExhausted,
                "there are too many memories here to search through them");
}

}  // namespace

void MemoryIndex::Changed(const std::vector<MemoryKey>& memories) {
  if (memories.empty()) return;
  MutexLock lock(mutex_);
  for (const MemoryKey& memory : memories) {
    auto owned = by_owner_.find(memory.owner);
    for (Entry* entry : {owned == by_owner_.end() ? nullptr : owned->second.get(), all_.get()}) {
      if (entry == nullptr) continue;
      Upkeep& upkeep = UpkeepOf(*entry);
      if (upkeep.stale) continue;
      upkeep.changes.push_back(memory);
      if (upkeep.changes.size() <= kChangesMax) continue;
      upkeep.stale = true;
      FreeMemory(upkeep.changes);
    }
  }
}

void MemoryIndex::ChangedUnknown() {
  MutexLock lock(mutex_);
  const auto outdate = [](Upkeep& upkeep) {
    upkeep.stale = true;
    FreeMemory(upkeep.changes);
  };
  for (const auto& [owner, entry] : by_owner_) outdate(UpkeepOf(*entry));
  if (all_ != nullptr) outdate(UpkeepOf(*all_));
}

std::shared_ptr<MemoryIndex::Entry> MemoryIndex::Find(const Scope& scope) {
  MutexLock lock(mutex_);
  std::shared_ptr<Entry>& entry =
      scope.kind == Scope::Kind::kOwner ? by_owner_[scope.user_id] : all_;
  // From here on changes are recorded, so those that Build's snapshot does not contain are not
  // lost.
  if (entry == nullptr) {
    entry = std::make_shared<Entry>();
    if (scope.kind == Scope::Kind::kOwner) entry->owner = scope.user_id;
    entry->name = IndexNameOf(entry->owner);
    UpkeepOf(*entry).place = by_use_.insert(by_use_.end(), entry);
  }
  by_use_.splice(by_use_.end(), by_use_, UpkeepOf(*entry).place);
  return entry;
}

bool MemoryIndex::IsCurrent(Entry& entry, const Embedding& wanted) {
  MutexLock lock(mutex_);
  const Upkeep& upkeep = UpkeepOf(entry);
  return entry.partition != nullptr && upkeep.changes.empty() && !upkeep.stale &&
         !entry.partition->worn() && Serves(*entry.partition, wanted);
}

bool MemoryIndex::IsTooLarge(const Entry& entry, const Embedding& wanted) {
  const std::optional<TooLarge>& known = entry.too_large;
  if (!known || MonotonicClock::now() >= known->until) return false;
  return known->dimensions == 0 ||
         (known->space == wanted.space && known->dimensions == DimensionsOf(wanted));
}

Status MemoryIndex::CheckSize(Entry& entry) const {
  const auto fits = [&](const Partition& partition) {
    return partition.bytes() + kEntryBytes <= bytes_max_;
  };
  Partition& partition = *entry.partition;
  if (fits(partition)) return Status::Ok();
  // The approximate index is optional: it only makes searches faster.
  if (partition.nearest() != nullptr) partition.DropNearest();
  if (fits(partition)) return Status::Ok();
  entry.too_large = {partition.space(), partition.dimensions(), DeadlineAfter(too_large_pause_)};
  return TooManyMemories();
}

Status MemoryIndex::Refresh(Entry& entry, const Scope& scope, const Embedding& wanted) {
  if (IsTooLarge(entry, wanted)) return TooManyMemories();
  std::vector<MemoryKey> changes;
  bool build;
  {
    MutexLock lock(mutex_);
    Upkeep& upkeep = UpkeepOf(entry);
    changes.swap(upkeep.changes);
    build = std::exchange(upkeep.stale, false);
  }
  if (entry.partition == nullptr || entry.partition->worn() || !Serves(*entry.partition, wanted)) {
    build = true;
  }
  Status status = build ? Build(entry, scope, wanted) : TakeChanges(*entry.partition, changes);
  if (status.ok()) status = CheckSize(entry);
  if (!status.ok()) entry.partition.reset();
  const size_t bytes = kEntryBytes + (status.ok() ? entry.partition->bytes() : 0);
  std::vector<std::shared_ptr<Entry>> dropped;  // freed after the lock
  MutexLock lock(mutex_);
  Upkeep& upkeep = UpkeepOf(entry);
  // An index that was dropped meanwhile serves this search to its end but is no longer counted.
  if (upkeep.dropped) return status;
  if (!status.ok() && !entry.too_large) {
    dropped.push_back(Drop(entry));
    return status;
  }
  bytes_ += bytes - upkeep.bytes;
  upkeep.bytes = bytes;
  if (status.ok() && WantsNearest(*entry.partition)) AddWork(entry);
  dropped = MakeRoom(entry);
  return status;
}

Status MemoryIndex::Build(Entry& entry, const Scope& scope, const Embedding& wanted) const {
  const std::unique_ptr<MemorySnapshot> snapshot = rows_.Snapshot();
  entry.partition.reset();
  auto partition = std::make_shared<Partition>(wanted.space, DimensionsOf(wanted), nearest_min_);
  bool too_large = false;
  auto within_bounds = [&] {
    if (stopping_) return CheckStopping(&stopping_);
    too_large = partition->bytes() > bytes_max_;
    return too_large ? TooManyMemories() : Status::Ok();
  };
  Status status =
      snapshot->ForEachRecord(scope, [&](const MemoryKey& key, const MemoryRecord& record) {
        partition->Put(key, record);
        return within_bounds();
      });
  const size_t needed_dimensions = status.ok() ? partition->dimensions() : 0;
  if (status.ok()) {
    status = snapshot->ForEachVector(scope, [&](const MemoryKey& key, const Embedding& embedding) {
      partition->PutVector(key, embedding);
      return within_bounds();
    });
  }
  if (too_large) {
    entry.too_large = {wanted.space, needed_dimensions, DeadlineAfter(too_large_pause_)};
  }
  if (status.ok()) entry.partition = std::move(partition);
  return status;
}

Status MemoryIndex::TakeChanges(Partition& partition, const std::vector<MemoryKey>& changes) const {
  const std::unique_ptr<MemorySnapshot> snapshot = rows_.Snapshot();
  // A change may be reported twice, by this process and by the database.
  std::unordered_set<uint64_t> seen;
  std::vector<MemoryKey> portion;
  for (size_t i = 0; i < changes.size(); ++i) {
    if (seen.insert(changes[i].number).second) portion.push_back(changes[i]);
    if (portion.size() < kReadAtOnce && i + 1 < changes.size()) continue;
    AG_RETURN_IF_ERROR(CheckStopping(&stopping_));
    AG_ASSIGN_OR_RETURN(const auto records, snapshot->FindRecords(portion));
    AG_ASSIGN_OR_RETURN(const auto vectors, snapshot->FindVectors(portion));
    for (size_t j = 0; j < portion.size(); ++j) {
      if (!records[j]) {
        partition.Remove(portion[j].number);
        continue;
      }
      partition.Put(portion[j], *records[j]);
      if (vectors[j]) partition.PutVector(portion[j], *vectors[j]);
    }
    portion.clear();
  }
  return Status::Ok();
}

std::shared_ptr<MemoryIndex::Entry> MemoryIndex::Drop(Entry& entry) {
  Upkeep& upkeep = UpkeepOf(entry);
  upkeep.dropped = true;
  bytes_ -= upkeep.bytes;
  std::shared_ptr<Entry> dropped = std::move(*upkeep.place);
  by_use_.erase(upkeep.place);
  if (entry.owner) {
    by_owner_.erase(*entry.owner);
  } else {
    all_.reset();
  }
  return dropped;
}

std::vector<std::shared_ptr<MemoryIndex::Entry>> MemoryIndex::MakeRoom(const Entry& kept) {
  std::vector<std::shared_ptr<Entry>> dropped;
  for (auto next = by_use_.begin(); bytes_ > bytes_max_ && next != by_use_.end();) {
    Entry& oldest = **next++;
    if (&oldest != &kept) dropped.push_back(Drop(oldest));
  }
  return dropped;
}

std::vector<std::shared_ptr<MemoryIndex::Entry>> MemoryIndex::Recount(Entry& entry,
                                                                      size_t partition_bytes) {
  MutexLock lock(mutex_);
  Upkeep& upkeep = UpkeepOf(entry);
  if (upkeep.dropped) return {};
  const size_t bytes = kEntryBytes + partition_bytes;
  bytes_ += bytes - upkeep.bytes;
  upkeep.bytes = bytes;
  return MakeRoom(entry);
}

void MemoryIndex::AddWork(Entry& entry) {
  Upkeep& upkeep = UpkeepOf(entry);
  if (upkeep.dropped || std::exchange(upkeep.waits_for_work, true)) return;
  work_.push_back(*upkeep.place);
  WakeKeeper();
}

void MemoryIndex::Stop() {
  MutexLock lock(mutex_);
  stopping_ = true;
  WakeKeeper();
}

bool MemoryIndex::WantsNearest(const Partition& partition) const {
  return partition.wants_nearest(bytes_max_ - std::min(bytes_max_, kEntryBytes));
}

Result<std::vector<Candidate>> MemoryIndex::SearchPartition(Entry& entry,
                                                            const SearchMemoriesRequest& search,
                                                            const FilterMatcher& filter,
                                                            size_t limit) {
  {
    ReaderLock lock(entry.mutex);
    if (IsCurrent(entry, search.embedding)) return entry.partition->Search(search, filter, limit);
  }
  WriterLock lock(entry.mutex);
  AG_RETURN_IF_ERROR(Refresh(entry, search.scope, search.embedding));
  // Under the same lock: a constant stream of changes must not starve searches.
  return entry.partition->Search(search, filter, limit);
}

Result<MemoryHits> MemoryIndex::Search(const SearchMemoriesRequest& search) {
  const uint64_t limit = std::min(search.limit, kPageItemsMax);
  // A memory without an owner belongs to no user.
  const bool no_user = search.scope.kind == Scope::Kind::kOwner && search.scope.user_id.empty();
  if (no_user || limit == 0) return MemoryHits();
  AG_RETURN_IF_ERROR(rows_.TakeForeignChanges(search.scope, [this](const ForeignChanges& changes) {
    if (changes.missed_some) ChangedUnknown();
    Changed(changes.memories);
  }));
  const std::shared_ptr<Entry> entry = Find(search.scope);
  const FilterMatcher filter(search.filter);
  for (size_t wanted = limit;; wanted *= 4) {
    AG_ASSIGN_OR_RETURN(const std::vector<Candidate> candidates,
                        SearchPartition(*entry, search, filter, wanted));
    bool full = false;
    AG_ASSIGN_OR_RETURN(MemoryHits hits, ReadHits(candidates, filter, search, limit, full));
    if (hits.hits.size() >= limit || full || candidates.size() < wanted) return hits;
  }
}

Result<MemoryHits> MemoryIndex::ReadHits(const std::vector<Candidate>& candidates,
                                         const FilterMatcher& filter,
                                         const SearchMemoriesRequest& search, size_t limit,
                                         bool& full) const {
  const std::unique_ptr<MemorySnapshot> snapshot = rows_.Snapshot();
  MemoryHits hits;
  size_t bytes = 0;
  for (size_t read = 0; read < candidates.size() && hits.hits.size() < limit && !full;) {
    const size_t count =
        std::min({kReadAtOnce, limit - hits.hits.size(), candidates.size() - read});
    std::vector<MemoryKey> keys;
    keys.reserve(count);
    for (size_t i = 0; i < count; ++i) keys.push_back(candidates[read + i].memory);
    AG_ASSIGN_OR_RETURN(auto records, snapshot->FindRecords(keys));
    for (size_t i = 0; i < count && !full; ++i) {
      std::optional<MemoryRecord>& record = records[i];
      if (!record || !InScope(search.scope, record->owner) || !filter.Matches(*record)) continue;
      bytes += TextBytes(*record);
      full = bytes > kPageBytesMax && !hits.hits.empty();
      if (!full) hits.hits.push_back({*std::move(record), candidates[read + i].score});
    }
    read += count;
  }
  return hits;
}

}  // namespace agent_graph::state

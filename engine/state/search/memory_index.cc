#include "state/search/memory_index.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <unordered_set>
#include <utility>

#include "base/free_memory.h"
#include "state/limits.h"
#include "state/rules/memories.h"
#include "state/rules/scope.h"
#include "state/rules/stopping.h"

namespace agent_graph::state {
namespace {

// Estimated bytes of an entry without its partition.
constexpr size_t kEntryBytes = 1024;

// Memories that are read in one round trip, if the rows are in another process.
constexpr size_t kReadAtOnce = 64;

// Vectors added to an approximate index before other entries are checked.
constexpr size_t kWorkPortion = 32;
// An index file is rewritten after this many changes, and this fraction (1/10) of all vectors.
constexpr size_t kUnsavedMin = 2'000;
constexpr size_t kUnsavedShare = 10;

size_t DimensionsOf(const Embedding& embedding) {
  return embedding.values.size() / sizeof(float);
}

// Only vectors of the same space and length can be compared.
bool Serves(const Partition& partition, const Embedding& wanted) {
  return wanted.values.empty() ||
         (wanted.space == partition.space() && DimensionsOf(wanted) == partition.dimensions());
}

}  // namespace

void MemoryIndex::Changed(const std::vector<MemoryKey>& memories) {
  if (memories.empty()) return;
  MutexLock lock(mutex_);
  for (const MemoryKey& memory : memories) {
    auto owned = by_owner_.find(memory.owner);
    for (Entry* entry : {owned == by_owner_.end() ? nullptr : owned->second.get(), all_.get()}) {
      if (entry == nullptr || entry->stale) continue;
      entry->changes.push_back(memory);
      if (entry->changes.size() <= kChangesMax) continue;
      entry->stale = true;
      FreeMemory(entry->changes);
    }
  }
}

void MemoryIndex::ChangedUnknown() {
  MutexLock lock(mutex_);
  const auto outdate = [](Entry& entry) {
    entry.stale = true;
    FreeMemory(entry.changes);
  };
  for (const auto& [owner, entry] : by_owner_) outdate(*entry);
  if (all_ != nullptr) outdate(*all_);
}

std::shared_ptr<MemoryIndex::Entry> MemoryIndex::Find(const Scope& scope) {
  MutexLock lock(mutex_);
  std::shared_ptr<Entry>& entry =
      scope.kind == Scope::Kind::kOwner ? by_owner_[scope.user_id] : all_;
  // From here on changes are recorded, so those that Build's snapshot does not contain are not
  // lost.
  if (entry == nullptr) {
    entry = std::make_shared<Entry>();
    entry->name = scope.kind == Scope::Kind::kOwner ? "owner " + scope.user_id : "all";
  }
  entry->last_used = ++uses_;
  return entry;
}

bool MemoryIndex::IsKept(const std::string& owner, const Entry& entry) const {
  auto place = by_owner_.find(owner);
  return place != by_owner_.end() && place->second.get() == &entry;
}

bool MemoryIndex::IsCurrent(Entry& entry, const Embedding& wanted) {
  MutexLock lock(mutex_);
  return entry.partition != nullptr && entry.changes.empty() && !entry.stale &&
         !entry.partition->worn() && Serves(*entry.partition, wanted);
}

Status MemoryIndex::Refresh(Entry& entry, const Scope& scope, const Embedding& wanted) {
  std::vector<MemoryKey> changes;
  bool build;
  {
    MutexLock lock(mutex_);
    changes.swap(entry.changes);
    build = std::exchange(entry.stale, false);
  }
  if (entry.partition == nullptr || entry.partition->worn() || !Serves(*entry.partition, wanted)) {
    build = true;
  }
  Status status = build ? Build(entry, scope, wanted) : TakeChanges(*entry.partition, changes);
  size_t bytes = status.ok() ? entry.partition->bytes() + kEntryBytes : 0;
  if (bytes > bytes_max_ && entry.partition->nearest() != nullptr) {
    // Optional: it only makes searches faster.
    entry.partition->DropNearest();
    bytes = entry.partition->bytes() + kEntryBytes;
  }
  if (bytes > bytes_max_) {
    status = Status(StatusCode::kResourceExhausted,
                    "there are too many memories here to search through them");
  }
  if (!status.ok()) {
    entry.partition.reset();
    Forget(scope);
    return status;
  }
  MutexLock lock(mutex_);
  // An index that was dropped meanwhile serves this search to its end but is no longer counted.
  const bool kept =
      scope.kind == Scope::Kind::kOwner ? IsKept(scope.user_id, entry) : all_.get() == &entry;
  if (!kept) return Status::Ok();
  bytes_ += bytes - entry.bytes;
  entry.bytes = bytes;
  entry.wants_work = WantsNearest(*entry.partition);
  if (entry.wants_work) work_to_do_.NotifyOne();
  MakeRoom(entry);
  return Status::Ok();
}

Status MemoryIndex::Build(Entry& entry, const Scope& scope, const Embedding& wanted) const {
  const std::unique_ptr<MemorySnapshot> snapshot = rows_.Snapshot();
  entry.partition.reset();
  auto partition = std::make_shared<Partition>(wanted.space, DimensionsOf(wanted), nearest_min_);
  auto within_bounds = [&] {
    if (stopping_) return CheckStopping(&stopping_);
    if (partition->bytes() <= bytes_max_) return Status::Ok();
    return Status(StatusCode::kResourceExhausted,
                  "there are too many memories here to search through them");
  };
  AG_RETURN_IF_ERROR(
      snapshot->ForEachRecord(scope, [&](const MemoryKey& key, const MemoryRecord& record) {
        partition->Put(key, record);
        return within_bounds();
      }));
  AG_RETURN_IF_ERROR(
      snapshot->ForEachVector(scope, [&](const MemoryKey& key, const Embedding& embedding) {
        partition->PutVector(key, embedding);
        return within_bounds();
      }));
  entry.partition = std::move(partition);
  return Status::Ok();
}

Status MemoryIndex::TakeChanges(Partition& partition, const std::vector<MemoryKey>& changes) const {
  const std::unique_ptr<MemorySnapshot> snapshot = rows_.Snapshot();
  // A change may be reported twice, by this process and by the database.
  std::unordered_set<uint64_t> seen;
  std::vector<MemoryKey> portion;
  for (size_t i = 0; i < changes.size(); ++i) {
    if (seen.insert(changes[i].number).second) portion.push_back(changes[i]);
    if (portion.size() < kReadAtOnce && i + 1 < changes.size()) continue;
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

void MemoryIndex::Forget(const Scope& scope) {
  MutexLock lock(mutex_);
  if (scope.kind == Scope::Kind::kOwner) {
    auto place = by_owner_.find(scope.user_id);
    if (place != by_owner_.end()) Drop(place);
  } else if (all_ != nullptr) {
    bytes_ -= all_->bytes;
    all_.reset();
  }
}

void MemoryIndex::Drop(std::unordered_map<std::string, std::shared_ptr<Entry>>::iterator place) {
  bytes_ -= place->second->bytes;
  by_owner_.erase(place);
}

void MemoryIndex::MakeRoom(const Entry& kept) {
  while (bytes_ > bytes_max_) {
    auto oldest = by_owner_.end();
    for (auto it = by_owner_.begin(); it != by_owner_.end(); ++it) {
      if (it->second.get() == &kept) continue;
      if (oldest == by_owner_.end() || it->second->last_used < oldest->second->last_used) {
        oldest = it;
      }
    }
    const bool drop_all =
        all_ != nullptr && all_.get() != &kept &&
        (oldest == by_owner_.end() || all_->last_used < oldest->second->last_used);
    if (drop_all) {
      bytes_ -= all_->bytes;
      all_.reset();
    } else if (oldest != by_owner_.end()) {
      Drop(oldest);
    } else {
      return;
    }
  }
}

void MemoryIndex::Stop() {
  MutexLock lock(mutex_);
  stopping_ = true;
  work_to_do_.NotifyAll();
}

void MemoryIndex::KeepIndexes() {
  while (std::shared_ptr<Entry> entry = NextToIndex()) {
    if (!IndexSome(*entry)) continue;
    MutexLock lock(mutex_);
    entry->wants_work = true;
  }
}

std::shared_ptr<MemoryIndex::Entry> MemoryIndex::NextToIndex() {
  MutexLock lock(mutex_);
  for (;;) {
    if (stopping_) return nullptr;
    std::shared_ptr<Entry> next = all_ != nullptr && all_->wants_work ? all_ : nullptr;
    for (const auto& [owner, entry] : by_owner_) {
      if (entry->wants_work) next = entry;
    }
    // Cleared here, so that a request for work that arrives during the work is not lost.
    if (next != nullptr) next->wants_work = false;
    if (next != nullptr) return next;
    work_to_do_.Wait(mutex_);
  }
}

bool MemoryIndex::WantsNearest(const Partition& partition) const {
  return partition.wants_nearest(bytes_max_ - std::min(bytes_max_, kEntryBytes));
}

bool MemoryIndex::IndexSome(Entry& entry) {
  std::shared_ptr<Partition> partition;
  std::shared_ptr<NearestIndex> nearest;
  Partition::Work work;
  {
    ReaderLock lock(entry.mutex);
    partition = entry.partition;
    if (partition == nullptr || !WantsNearest(*partition)) return false;
    nearest = partition->nearest();
    if (nearest != nullptr) work = partition->NextWork(kWorkPortion);
  }
  if (nearest == nullptr) {
    nearest = MakeNearest(entry, *partition);
    return nearest != nullptr;
  }
  for (uint64_t number : work.removals) nearest->Remove(number);
  for (const Partition::Work::Addition& addition : work.additions) {
    if (!nearest->Add(addition.number, addition.vector.data()).ok()) return false;
  }
  {
    WriterLock lock(entry.mutex);
    if (partition->nearest() != nearest) return WantsNearest(*partition);  // dropped meanwhile
    partition->FinishWork(work);
  }
  entry.unsaved += work.additions.size() + work.removals.size();
  size_t live = 0;
  {
    ReaderLock lock(entry.mutex);
    if (WantsNearest(*partition)) return true;
    live = partition->live();
  }
  // Without the lock: only this thread changes the index, and a search that follows a change must
  // not wait for the file.
  SaveIfDue(entry, partition->space(), live, *nearest);
  return false;
}

std::shared_ptr<NearestIndex> MemoryIndex::MakeNearest(Entry& entry, Partition& partition) {
  std::shared_ptr<NearestIndex> nearest;
  std::vector<uint32_t> known;
  if (!directory_.empty()) {
    auto loaded = NearestIndex::Load(FileOf(entry.name), entry.name + " " + partition.space(),
                                     partition.dimensions(), &stopping_);
    ReaderLock lock(entry.mutex);
    // The file still holds vectors that were removed since, and may be too large.
    if (loaded.ok() && partition.bytes() + (*loaded)->bytes() <= bytes_max_) {
      nearest = *std::move(loaded);
      known = partition.SlotsIn(*nearest);
    }
  }
  if (nearest == nullptr) {
    size_t vectors = 0;
    {
      ReaderLock lock(entry.mutex);  // searches take changes in meanwhile
      vectors = partition.vectors();
    }
    try {
      nearest = std::make_shared<NearestIndex>(partition.dimensions(), 2 * vectors);
    } catch (const std::exception&) {
      return nullptr;  // out of memory: exact search continues
    }
  }
  WriterLock lock(entry.mutex);
  partition.Adopt(nearest, known);
  return nearest;
}

void MemoryIndex::SaveIfDue(Entry& entry, const std::string& space, size_t live,
                            const NearestIndex& nearest) {
  if (directory_.empty() || entry.unsaved < std::max(kUnsavedMin, live / kUnsavedShare)) return;
  entry.unsaved = 0;
  mkdir(directory_.c_str(), 0700);
  // Ignored: without the file the index is only built again.
  [[maybe_unused]] const Status saved =
      nearest.Save(FileOf(entry.name), entry.name + " " + space, &stopping_);
}

std::string MemoryIndex::FileOf(const std::string& name) const {
  // The hash may collide: the name stored in the file is compared on loading, and colliding files
  // overwrite each other.
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return directory_ + "/" + text;
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

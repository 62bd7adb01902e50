// MemoryIndex: builds, changes and saves the approximate indexes of large partitions.
#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "state/search/index_files.h"
#include "state/search/memory_index.h"

namespace agent_graph::state {
namespace {

// Vectors added to an approximate index before other entries are checked.
constexpr size_t kWorkPortion = 32;
// An index file is rewritten after this many changes, and this fraction (1/10) of all vectors.
constexpr size_t kUnsavedMin = 2'000;
constexpr size_t kUnsavedShare = 10;

}  // namespace

void MemoryIndex::KeepIndexes() {
  if (!directory_.empty()) RemoveUnusedIndexes(rows_, directory_, stopping_);
  while (std::shared_ptr<Entry> entry = NextToIndex()) {
    if (!IndexSome(*entry)) continue;
    MutexLock lock(mutex_);
    AddWork(*entry);
  }
}

std::shared_ptr<MemoryIndex::Entry> MemoryIndex::NextToIndex() {
  MutexLock lock(mutex_);
  for (;;) {
    if (stopping_) return nullptr;
    while (!work_.empty()) {
      const std::shared_ptr<Entry> next = work_.front().lock();
      work_.pop_front();
      if (next == nullptr || UpkeepOf(*next).dropped) continue;
      // Cleared here, so that a request for work that arrives during the work is not lost.
      UpkeepOf(*next).waits_for_work = false;
      return next;
    }
    work_to_do_.Wait(mutex_);
  }
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
    Partition& changed = ToChange(entry, *partition);
    if (changed.nearest() != nearest) return WantsNearest(changed);  // dropped meanwhile
    changed.FinishWork(work);
  }
  entry.unsaved += work.additions.size() + work.removals.size();
  size_t live = 0;
  std::vector<std::shared_ptr<Entry>> dropped;  // freed after the locks
  {
    ReaderLock lock(entry.mutex);
    const Partition& read = ToRead(entry, *partition);
    if (entry.partition == partition) dropped = Recount(entry, read.bytes());
    if (WantsNearest(read)) return true;
    live = read.live();
  }
  // Without the lock: only this thread changes the index, and a search that follows a change must
  // not wait for the file.
  SaveIfDue(entry, partition->space(), live, *nearest);
  return false;
}

const Partition& MemoryIndex::ToRead(Entry&, Partition& partition) {
  return partition;
}

Partition& MemoryIndex::ToChange(Entry&, Partition& partition) {
  return partition;
}

std::shared_ptr<NearestIndex> MemoryIndex::MakeNearest(Entry& entry, Partition& partition) {
  std::shared_ptr<NearestIndex> nearest;
  std::vector<uint32_t> known;
  if (!directory_.empty()) {
    auto loaded = NearestIndex::Load(FileOf(entry.name), entry.name + " " + partition.space(),
                                     partition.dimensions(), &stopping_);
    ReaderLock lock(entry.mutex);
    const Partition& read = ToRead(entry, partition);
    // The file still holds vectors that were removed since, and may be too large.
    if (loaded.ok() && read.bytes() + (*loaded)->bytes() <= bytes_max_) {
      nearest = *std::move(loaded);
      known = read.SlotsIn(*nearest);
    }
  }
  if (nearest == nullptr) {
    size_t vectors = 0;
    {
      ReaderLock lock(entry.mutex);  // searches take changes in meanwhile
      vectors = ToRead(entry, partition).vectors();
    }
    try {
      nearest = std::make_shared<NearestIndex>(partition.dimensions(), 2 * vectors);
    } catch (const std::exception&) {
      return nullptr;  // out of memory: exact search continues
    }
  }
  WriterLock lock(entry.mutex);
  ToChange(entry, partition).Adopt(nearest, known);
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
  return IndexFileOf(directory_, name);
}

}  // namespace agent_graph::state

// Search through memories, in the state server's process.
//
// Each searched scope gets a partition in memory. It is built from the scope's rows on the first
// search and kept until it is evicted for lack of room. The write thread records changes, which are
// applied before the next search. The stored rows remain the source of truth: a partition can be
// dropped at any time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "state/memories.h"
#include "state/search/filter.h"
#include "state/search/memory_rows.h"
#include "state/search/partition.h"

namespace agent_graph::state {

// Thread-safe. Search and KeepIndexes block; Changed does not.
class MemoryIndex {
 public:
  // Maximum number of changes recorded for one partition; above it the partition is rebuilt.
  static constexpr size_t kChangesMax = 65'536;

  // Pause before a partition that was too large is built again: some memories may be gone then.
  static constexpr std::chrono::milliseconds kTooLargePause{60'000};

  // `bytes_max` limits all partitions together; a scope whose partition needs more is not
  // searchable. Approximate indexes of large partitions are saved in `directory` (empty: kept in
  // memory only). `nearest_min`: see Partition.
  MemoryIndex(const MemoryRows& rows, std::string directory, size_t bytes_max,
              size_t nearest_min = Partition::kNearestMin,
              std::chrono::milliseconds too_large_pause = kTooLargePause)
      : rows_(rows),
        directory_(std::move(directory)),
        bytes_max_(bytes_max),
        nearest_min_(nearest_min),
        too_large_pause_(too_large_pause) {}

  // Reports committed changes. Returns quickly and never waits for a search.
  void Changed(const std::vector<MemoryKey>& memories);
  // Changes were missed: every partition is built again before its next search.
  void ChangedUnknown();

  Result<MemoryHits> Search(const SearchMemoriesRequest& search);

  // Runs on a dedicated thread until Stop: adds the vectors of large partitions to their
  // approximate indexes and saves these to files. Stop also interrupts searches that build a
  // partition or take many changes over.
  void KeepIndexes();
  void Stop();

 private:
  struct Entry;
  using Entries = std::list<std::shared_ptr<Entry>>;
  // The part of an entry that mutex_ protects.
  struct Upkeep {
    std::vector<MemoryKey> changes;  // not in the partition yet
    bool stale = false;              // some changes were not recorded: rebuild
    Entries::iterator place = {};    // in by_use_
    bool dropped = false;            // only searches in progress still use it
    size_t bytes = 0;
    bool waits_for_work = false;  // it is in work_
  };
  // A partition that did not fit into bytes_max_.
  struct TooLarge {
    std::string space;
    size_t dimensions = 0;  // 0: the texts alone do not fit, so no partition does
    Deadline until;         // when it may be built again
  };
  struct Entry {
    std::optional<std::string> owner;  // nullopt: all owners
    std::string name;                  // name of the file, which also contains it
    SharedMutex mutex;
    std::shared_ptr<Partition> partition AG_GUARDED_BY(mutex);  // null: to be built
    std::optional<TooLarge> too_large AG_GUARDED_BY(mutex);

    // Changes of the index since its file was written. Used only by the thread of KeepIndexes.
    size_t unsaved = 0;

    Upkeep upkeep;  // use UpkeepOf
  };

  Upkeep& UpkeepOf(Entry& entry) const AG_REQUIRES(mutex_) { return entry.upkeep; }
  // Return `partition`, which was taken from the entry and may have been replaced there since.
  static const Partition& ToRead(Entry& entry, Partition& partition)
      AG_REQUIRES_SHARED(entry.mutex);
  static Partition& ToChange(Entry& entry, Partition& partition) AG_REQUIRES(entry.mutex);

  std::shared_ptr<Entry> Find(const Scope& scope);
  // `wanted`: the vector that is searched for; empty when any partition serves.
  bool IsCurrent(Entry& entry, const Embedding& wanted) AG_REQUIRES_SHARED(entry.mutex);
  // Builds the partition or takes the noted changes over.
  Status Refresh(Entry& entry, const Scope& scope, const Embedding& wanted)
      AG_REQUIRES(entry.mutex);
  Status Build(Entry& entry, const Scope& scope, const Embedding& wanted) const
      AG_REQUIRES(entry.mutex);
  Status TakeChanges(Partition& partition, const std::vector<MemoryKey>& changes) const;
  Status CheckSize(Entry& entry) const AG_REQUIRES(entry.mutex);
  // True if a partition for `wanted` was too large a short while ago.
  static bool IsTooLarge(const Entry& entry, const Embedding& wanted)
      AG_REQUIRES_SHARED(entry.mutex);
  // These return entries for the caller to free after it has unlocked mutex_: a large partition
  // takes long, and the write thread waits for the lock.
  [[nodiscard]] std::shared_ptr<Entry> Drop(Entry& entry) AG_REQUIRES(mutex_);
  [[nodiscard]] std::vector<std::shared_ptr<Entry>> MakeRoom(const Entry& kept) AG_REQUIRES(mutex_);
  // Sets the size that the entry counts with. Returns the entries that were dropped to make room.
  [[nodiscard]] std::vector<std::shared_ptr<Entry>> Recount(Entry& entry, size_t partition_bytes);
  // Lets the thread of KeepIndexes work on the entry.
  void AddWork(Entry& entry) AG_REQUIRES(mutex_);
  // Waits for an entry with work to do; null once stopped.
  std::shared_ptr<Entry> NextToIndex();
  // Wakes the thread of KeepIndexes.
  void WakeKeeper() AG_REQUIRES(mutex_) { work_to_do_.NotifyAll(); }
  bool WantsNearest(const Partition& partition) const;
  // Does one portion of the work. Returns false when none is left.
  bool IndexSome(Entry& entry);
  std::shared_ptr<NearestIndex> MakeNearest(Entry& entry, Partition& partition);
  void SaveIfDue(Entry& entry, const std::string& space, size_t live, const NearestIndex& nearest);
  std::string FileOf(const std::string& name) const;
  Result<std::vector<Candidate>> SearchPartition(Entry& entry, const SearchMemoriesRequest& search,
                                                 const FilterMatcher& filter, size_t limit);
  // Reads the records of the candidates; skips those that no longer exist or do not match. Sets
  // `full` when the reply reaches its size limit.
  Result<MemoryHits> ReadHits(const std::vector<Candidate>& candidates, const FilterMatcher& filter,
                              const SearchMemoriesRequest& search, size_t limit, bool& full) const;

  const MemoryRows& rows_;
  const std::string directory_;
  const size_t bytes_max_;
  const size_t nearest_min_;
  const std::chrono::milliseconds too_large_pause_;

  Mutex mutex_;
  CondVar work_to_do_;
  std::atomic<bool> stopping_{false};  // set under mutex_
  std::unordered_map<std::string, std::shared_ptr<Entry>> by_owner_ AG_GUARDED_BY(mutex_);
  std::shared_ptr<Entry> all_ AG_GUARDED_BY(mutex_);  // the same, of all owners
  Entries by_use_ AG_GUARDED_BY(mutex_);              // all entries; the latest used is the last
  std::deque<std::weak_ptr<Entry>> work_ AG_GUARDED_BY(mutex_);  // entries for KeepIndexes
  size_t bytes_ AG_GUARDED_BY(mutex_) = 0;                       // bytes of all entries
};

}  // namespace agent_graph::state

// Search through memories, in the owner's process.
//
// A scope that is searched gets a partition in memory, built from its rows the first time and kept
// while there is room; changes are noted by the write thread and taken over before the next search.
// The database stays the only truth: a partition may be dropped at any time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "state/leveldb/database.h"
#include "state/leveldb/keys.h"
#include "state/memories.h"
#include "state/search/filter.h"
#include "state/search/partition.h"

namespace agent_graph::state {

// Thread-safe.
class MemoryIndex {
 public:
  // Changes noted for one partition; with more it is built anew.
  static constexpr size_t kChangesMax = 65'536;

  // `bytes_max` bounds all partitions together; a single one that needs more is not searched.
  // Approximate indexes of large partitions are kept in `directory`; empty: in memory only.
  // `nearest_min`: see Partition.
  MemoryIndex(const Database& database, std::string directory, size_t bytes_max,
              size_t nearest_min = Partition::kNearestMin)
      : database_(database),
        directory_(std::move(directory)),
        bytes_max_(bytes_max),
        nearest_min_(nearest_min) {}

  // These were committed. Short; never waits for a search.
  void Changed(const std::vector<keys::MemoryKey>& memories);

  Result<MemoryHits> Search(const SearchMemories& search);

  // The work of a thread of its own, until Stop, which also ends the building of partitions: gets
  // the vectors of large partitions into their approximate indexes, and those into files.
  void KeepIndexes();
  void Stop();

 private:
  struct Entry {
    std::string name;  // of the file, and in it
    SharedMutex mutex;
    // Null: to be built.
    std::shared_ptr<Partition> partition AG_GUARDED_BY(mutex);
    size_t unsaved =
        0;  // changes of the index since its file was written; of the thread that keeps it
    // Guarded by the index's mutex.
    std::vector<keys::MemoryKey> changes;
    bool stale = false;  // changes were lost
    uint64_t last_used = 0;
    size_t bytes = 0;
    bool wants_work = false;
  };

  std::shared_ptr<Entry> Find(const Scope& scope);
  // `wanted`: the vector that is searched for; empty when any partition serves.
  bool IsCurrent(Entry& entry, const Embedding& wanted) AG_REQUIRES_SHARED(entry.mutex);
  // Builds the partition or takes the noted changes over.
  Status Refresh(Entry& entry, const Scope& scope, const Embedding& wanted)
      AG_REQUIRES(entry.mutex);
  Status Build(Entry& entry, const Scope& scope, const Embedding& wanted) const
      AG_REQUIRES(entry.mutex);
  Status TakeChanges(Partition& partition, const std::vector<keys::MemoryKey>& changes) const;
  void Forget(const Scope& scope);
  bool IsKept(const std::string& owner, const Entry& entry) const AG_REQUIRES(mutex_);
  void Drop(std::unordered_map<std::string, std::shared_ptr<Entry>>::iterator place)
      AG_REQUIRES(mutex_);
  void MakeRoom(const Entry& kept) AG_REQUIRES(mutex_);
  // Waits for an entry with work to do; null once stopped.
  std::shared_ptr<Entry> NextToIndex();
  bool WantsNearest(const Partition& partition) const;
  // A portion of the work. False when none is left.
  bool IndexSome(Entry& entry);
  std::shared_ptr<NearestIndex> MakeNearest(Entry& entry, Partition& partition);
  void SaveIfDue(Entry& entry, const std::string& space, size_t live, const NearestIndex& nearest);
  std::string FileOf(const std::string& name) const;
  Result<std::vector<Candidate>> SearchPartition(Entry& entry, const SearchMemories& search,
                                                 const FilterMatcher& filter, size_t limit);
  // The records of the candidates, as far as they exist and match; `full`: one answer holds no
  // more.
  Result<MemoryHits> ReadHits(const std::vector<Candidate>& candidates, const FilterMatcher& filter,
                              const SearchMemories& search, size_t limit, bool& full) const;

  const Database& database_;
  const std::string directory_;
  const size_t bytes_max_;
  const size_t nearest_min_;

  Mutex mutex_;
  CondVar work_to_do_;
  std::atomic<bool> stopping_{false};  // set under mutex_
  std::unordered_map<std::string, std::shared_ptr<Entry>> by_owner_ AG_GUARDED_BY(mutex_);
  std::shared_ptr<Entry> all_ AG_GUARDED_BY(mutex_);  // the same, of all owners
  size_t bytes_ AG_GUARDED_BY(mutex_) = 0;            // of all entries
  uint64_t uses_ AG_GUARDED_BY(mutex_) = 0;
};

}  // namespace agent_graph::state

// The in-memory search data of one scope's memories: vectors, words and field hashes, without the
// contents.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "state/memories.h"
#include "state/search/filter.h"
#include "state/search/memory_rows.h"
#include "state/search/nearest_index.h"
#include "state/search/text_index.h"

namespace agent_graph::state {

struct Candidate {
  MemoryKey memory;
  double score = 0;
};

// Not thread-safe for changes: concurrent reads are allowed, but not during a change.
class Partition {
 public:
  // Below this number of vectors exact search is faster.
  static constexpr size_t kNearestMin = 20'000;

  // Vectors of another space or length are ignored. With `nearest_min` vectors or more an
  // approximate index is used.
  Partition(std::string space, size_t dimensions, size_t nearest_min = kNearestMin)
      : space_(std::move(space)), dimensions_(dimensions), nearest_min_(nearest_min) {}

  // Adds a new or changed memory; PutVector follows with its vector.
  void Put(const MemoryKey& key, const MemoryRecord& record);
  void PutVector(const MemoryKey& key, const Embedding& embedding);
  void Remove(uint64_t number);

  // Returns the best `limit` candidates, best first. Fields are compared by hash only, so the
  // caller must check each record against the filter.
  std::vector<Candidate> Search(const SearchMemoriesRequest& search, const FilterMatcher& filter,
                                size_t limit) const;

  // The approximate index is maintained by one thread, in portions of work. Vectors that are not in
  // it yet are compared exactly; with too few vectors, all are.
  struct Work {
    struct Addition {
      uint32_t slot = 0;
      uint64_t number = 0;
      std::vector<float> vector;
    };
    std::vector<Addition> additions;
    std::vector<uint64_t> removals;
    bool empty() const { return additions.empty() && removals.empty(); }
  };
  // False if the index would exceed `bytes_max` in total.
  bool wants_nearest(size_t bytes_max) const;
  Work NextWork(size_t count) const;
  void FinishWork(const Work& work);
  const std::shared_ptr<NearestIndex>& nearest() const { return nearest_; }
  // SlotsIn returns the slots whose vectors `nearest` already contains; Adopt takes the index over.
  std::vector<uint32_t> SlotsIn(const NearestIndex& nearest) const;
  void Adopt(std::shared_ptr<NearestIndex> nearest, const std::vector<uint32_t>& slots);
  void DropNearest();

  size_t dimensions() const { return dimensions_; }
  size_t vectors() const { return lengths_.size(); }
  const std::string& space() const { return space_; }
  size_t live() const { return slot_of_.size(); }
  size_t bytes() const;
  // True if most of the data is left over from changes and removals.
  bool worn() const;

 private:
  static constexpr uint32_t kNone = ~0u;
  // Vectors are allocated in chunks: each chunk doubles the capacity, within these limits.
  static constexpr size_t kChunkVectorsMin = 8;
  static constexpr size_t kChunkVectorsMax = 1024;

  struct Slot {
    uint64_t number = 0;
    uint32_t owner = 0;
    uint32_t vector = kNone;
    uint32_t hashes_start = 0;
    uint32_t hashes_count = 0;
    bool live = false;
    bool indexed = false;  // nearest_ contains this vector
  };
  // A slot and its score in one ranking.
  struct Scored {
    uint32_t slot = 0;
    float score = 0;
  };
  using Ranked = std::vector<Scored>;

  uint32_t OwnerIndex(const std::string& owner);
  float* NewVector();
  bool Matches(const Slot& slot, const FilterMatcher& filter) const;
  std::vector<uint32_t> Matching(const FilterMatcher& filter) const;
  float Likeness(const std::vector<float>& query, float query_length, Metric metric,
                 const Slot& slot) const;
  // Scores all slots that match the filter and have a vector; unordered.
  Ranked ScoreVectors(const SearchMemoriesRequest& search,
                      const std::vector<uint32_t>& slots) const;
  // Finds at least `count` of the nearest with the approximate index. Returns false if it cannot.
  bool ScoreNearest(const SearchMemoriesRequest& search, const FilterMatcher& filter, size_t count,
                    Ranked& ranked) const;
  Ranked RankByVector(const SearchMemoriesRequest& search, const FilterMatcher& filter,
                      size_t count) const;
  Ranked RankByAge(const SearchMemoriesRequest& search, const FilterMatcher& filter,
                   size_t limit) const;
  Ranked ScoreWords(const std::string& query, const std::vector<uint32_t>& slots) const;
  Ranked Fuse(const Ranked& by_vector, const Ranked& by_words) const;
  void KeepBest(Ranked& ranked, size_t limit) const;
  std::vector<float> QueryVector(const Embedding& embedding) const;

  const std::string space_;
  const size_t dimensions_;
  const size_t nearest_min_;
  std::vector<Slot> slots_;  // in the order of changes
  std::unordered_map<uint64_t, uint32_t> slot_of_;
  std::vector<uint64_t> hashes_;
  std::vector<std::string> owners_;
  std::unordered_map<std::string, uint32_t> owner_index_;
  size_t owner_bytes_ = 0;
  // The vectors' memory, their addresses and their lengths (norms).
  std::vector<std::unique_ptr<float[]>> chunks_;
  size_t chunk_left_ = 0;  // free places in the last chunk
  size_t chunk_bytes_ = 0;
  std::vector<float*> vectors_;
  std::vector<float> lengths_;
  TextIndex words_;  // texts are numbered by slot
  std::shared_ptr<NearestIndex> nearest_;
  std::vector<uint32_t> unindexed_;  // slots with a vector that is not in nearest_
  std::vector<uint64_t> removed_;    // numbers to remove from nearest_
};

}  // namespace agent_graph::state

// The memories of one scope as a search needs them: vectors, words and fields, without contents.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "state/leveldb/keys.h"
#include "state/memories.h"
#include "state/search/filter.h"
#include "state/search/nearest_index.h"
#include "state/search/text_index.h"

namespace agent_graph::state {

struct Candidate {
  keys::MemoryKey memory;
  double score = 0;
};

// Reads may be concurrent with each other, not with changes.
class Partition {
 public:
  // With fewer vectors exact search is the faster one.
  static constexpr size_t kNearestMin = 20'000;

  // Vectors of another space or another length are passed over. From `nearest_min` on an
  // approximate index is wanted.
  Partition(std::string space, size_t dimensions, size_t nearest_min = kNearestMin)
      : space_(std::move(space)), dimensions_(dimensions), nearest_min_(nearest_min) {}

  // A new or changed memory, to be followed by its vector.
  void Put(const keys::MemoryKey& key, const MemoryRecord& record);
  void PutVector(const keys::MemoryKey& key, const Embedding& embedding);
  void Remove(uint64_t number);

  // The best `limit`, best first. Fields are compared by hashes: a hit may have to be passed over
  // once its record is there.
  std::vector<Candidate> Search(const SearchMemories& search, const FilterMatcher& filter,
                                size_t limit) const;

  // The approximate index is kept beside, by one thread that takes portions of work: what is not in
  // it yet is compared one by one, and without enough vectors so is everything.
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
  // Not where the index would bring all of it beyond `bytes_max`.
  bool wants_nearest(size_t bytes_max) const;
  Work NextWork(size_t count) const;
  void FinishWork(const Work& work);
  const std::shared_ptr<NearestIndex>& nearest() const { return nearest_; }
  // An index that may hold some of the vectors already, and those that it does.
  std::vector<uint32_t> SlotsIn(const NearestIndex& nearest) const;
  void Adopt(std::shared_ptr<NearestIndex> nearest, const std::vector<uint32_t>& slots);
  void DropNearest();

  size_t dimensions() const { return dimensions_; }
  size_t vectors() const { return lengths_.size(); }
  const std::string& space() const { return space_; }
  size_t live() const { return slot_of_.size(); }
  size_t bytes() const;
  // Most of it is what changes and removals have left behind.
  bool worn() const;

 private:
  static constexpr uint32_t kNone = ~0u;
  // Vectors that are given room together: as many again as there are, within these bounds.
  static constexpr size_t kChunkVectorsMin = 8;
  static constexpr size_t kChunkVectorsMax = 1024;

  struct Slot {
    uint64_t number = 0;
    uint32_t owner = 0;
    uint32_t vector = kNone;
    uint32_t hashes_start = 0;
    uint32_t hashes_count = 0;
    bool live = false;
    bool indexed = false;  // nearest_ holds this very vector
  };
  // The scores of one ranking, by slot, and the slots worth showing.
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
  // What fits the filter and has a vector, with its likeness; unordered.
  Ranked ScoreVectors(const SearchMemories& search, const std::vector<uint32_t>& slots) const;
  // By the approximate index: at least `count` of the nearest. False when it cannot tell.
  bool ScoreNearest(const SearchMemories& search, const FilterMatcher& filter, size_t count,
                    Ranked& ranked) const;
  Ranked RankByVector(const SearchMemories& search, const FilterMatcher& filter,
                      size_t count) const;
  Ranked RankByAge(const SearchMemories& search, const FilterMatcher& filter, size_t limit) const;
  Ranked ScoreWords(const std::string& query, const std::vector<uint32_t>& slots) const;
  Ranked Fuse(const Ranked& by_vector, const Ranked& by_words) const;
  void KeepBest(Ranked& ranked, size_t limit) const;
  std::vector<float> QueryVector(const Embedding& embedding) const;

  const std::string space_;
  const size_t dimensions_;
  const size_t nearest_min_;
  std::vector<Slot> slots_;  // in order of change
  std::unordered_map<uint64_t, uint32_t> slot_of_;
  std::vector<uint64_t> hashes_;
  std::vector<std::string> owners_;
  std::unordered_map<std::string, uint32_t> owner_index_;
  size_t owner_bytes_ = 0;
  // Vectors, where they are and how long.
  std::vector<std::unique_ptr<float[]>> chunks_;
  size_t chunk_left_ = 0;  // vectors that the last chunk has room for
  size_t chunk_bytes_ = 0;
  std::vector<float*> vectors_;
  std::vector<float> lengths_;
  TextIndex words_;  // a text's number is its slot
  std::shared_ptr<NearestIndex> nearest_;
  std::vector<uint32_t> unindexed_;  // slots with a vector that is not in nearest_
  std::vector<uint64_t> removed_;    // numbers that nearest_ still holds
};

}  // namespace agent_graph::state

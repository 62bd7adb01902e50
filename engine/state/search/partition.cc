#include "state/search/partition.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "state/search/distance.h"

namespace agent_graph::state {
namespace {

// Reciprocal rank fusion: the sum of 1 / (kRankOffset + rank) over both rankings.
constexpr double kRankOffset = 60;
// Number of ranks of each ranking that are fused: a minimum, and per wanted hit.
constexpr size_t kFusedMin = 100;
constexpr size_t kFusedPerHit = 5;
// BM25 scores are unbounded; this one is mapped to half of the maximum.
constexpr float kWordScoreHalf = 4.0f;

// The approximate index is asked for more results than wanted, because filters remove some and its
// order is only approximate. It is used only while at most this fraction of the vectors is not in
// it yet.
constexpr size_t kNearestCountMax = 500;
constexpr size_t kNearestAskedMin = 200;
constexpr size_t kNearestAskedPerHit = 2;
constexpr size_t kUnindexedShare = 8;

constexpr size_t kWornSlotsMin = 1024;
// Estimated bytes of an unordered_map node with two small members.
constexpr size_t kMapEntryBytes = 48;

bool ContainsAll(const uint64_t* hashes, size_t count, const std::vector<uint64_t>& wanted) {
  return std::ranges::all_of(wanted, [&](uint64_t hash) {
    return std::find(hashes, hashes + count, hash) != hashes + count;
  });
}

}  // namespace

uint32_t Partition::OwnerIndex(const std::string& owner) {
  auto [place, added] = owner_index_.try_emplace(owner, static_cast<uint32_t>(owners_.size()));
  if (added) {
    owners_.push_back(owner);
    owner_bytes_ += 2 * (owner.size() + sizeof(std::string)) + kMapEntryBytes;
  }
  return place->second;
}

float* Partition::NewVector() {
  if (chunk_left_ == 0) {
    chunk_left_ = std::clamp(vectors_.size(), kChunkVectorsMin, kChunkVectorsMax);
    chunks_.push_back(std::make_unique_for_overwrite<float[]>(chunk_left_ * dimensions_));
    chunk_bytes_ += chunk_left_ * dimensions_ * sizeof(float);
    vectors_.push_back(chunks_.back().get());
  } else {
    vectors_.push_back(vectors_.back() + dimensions_);
  }
  --chunk_left_;
  return vectors_.back();
}

void Partition::Put(const MemoryKey& key, const MemoryRecord& record) {
  Remove(key.number);
  const std::vector<uint64_t> hashes = FieldHashes(record);
  Slot slot;
  slot.number = key.number;
  slot.owner = OwnerIndex(key.owner);
  slot.hashes_start = static_cast<uint32_t>(hashes_.size());
  slot.hashes_count = static_cast<uint32_t>(hashes.size());
  slot.live = true;
  hashes_.insert(hashes_.end(), hashes.begin(), hashes.end());
  slot_of_[key.number] = static_cast<uint32_t>(slots_.size());
  slots_.push_back(slot);
  words_.Add(record.content);
}

void Partition::PutVector(const MemoryKey& key, const Embedding& embedding) {
  auto place = slot_of_.find(key.number);
  if (place == slot_of_.end() || embedding.values.empty() || embedding.space != space_ ||
      embedding.values.size() != dimensions_ * sizeof(float)) {
    return;
  }
  const auto index = static_cast<uint32_t>(vectors_.size());
  float* vector = NewVector();
  std::memcpy(vector, embedding.values.data(), embedding.values.size());
  lengths_.push_back(std::sqrt(DotProduct(vector, vector, dimensions_)));
  slots_[place->second].vector = index;
  unindexed_.push_back(place->second);
}

void Partition::Remove(uint64_t number) {
  auto place = slot_of_.find(number);
  if (place == slot_of_.end()) return;
  Slot& slot = slots_[place->second];
  slot.live = false;
  if (slot.indexed) removed_.push_back(number);
  words_.Remove(place->second);
  slot_of_.erase(place);
}

size_t Partition::bytes() const {
  return slots_.capacity() * sizeof(Slot) + slot_of_.size() * kMapEntryBytes +
         hashes_.capacity() * sizeof(uint64_t) + owner_bytes_ + chunk_bytes_ +
         vectors_.capacity() * sizeof(float*) + lengths_.capacity() * sizeof(float) +
         words_.bytes() + unindexed_.capacity() * sizeof(uint32_t) +
         (nearest_ != nullptr ? nearest_->bytes() : 0);
}

bool Partition::worn() const {
  return slots_.size() > kWornSlotsMin && slots_.size() > 2 * slot_of_.size();
}

bool Partition::wants_nearest(size_t bytes_max) const {
  if (slot_of_.size() < nearest_min_ || lengths_.size() < nearest_min_) return false;
  if (nearest_ != nullptr && unindexed_.empty() && removed_.empty()) return false;
  return bytes() + NearestIndex::BytesOf(dimensions_, unindexed_.size()) <= bytes_max;
}

Partition::Work Partition::NextWork(size_t count) const {
  Work work;
  work.removals = removed_;
  // Latest first: if a number occurs twice, the later vector is valid.
  for (size_t i = unindexed_.size(); i-- > 0 && work.additions.size() < count;) {
    const Slot& slot = slots_[unindexed_[i]];
    if (!slot.live) continue;
    const float* vector = vectors_[slot.vector];
    work.additions.push_back({unindexed_[i], slot.number, {vector, vector + dimensions_}});
  }
  return work;
}

void Partition::FinishWork(const Work& work) {
  // Entries added to the lists during the work are behind those that the work was made from.
  removed_.erase(removed_.begin(), removed_.begin() + static_cast<ptrdiff_t>(work.removals.size()));
  for (const Work::Addition& addition : work.additions) {
    Slot& slot = slots_[addition.slot];
    slot.indexed = slot.live;
    if (!slot.live && !slot_of_.contains(slot.number)) removed_.push_back(slot.number);
  }
  std::erase_if(unindexed_,
                [this](uint32_t index) { return slots_[index].indexed || !slots_[index].live; });
}

std::vector<uint32_t> Partition::SlotsIn(const NearestIndex& nearest) const {
  std::vector<uint32_t> slots;
  for (uint64_t label : nearest.Labels()) {
    auto place = slot_of_.find(label);
    if (place == slot_of_.end()) continue;
    const Slot& slot = slots_[place->second];
    if (slot.vector != kNone && nearest.Holds(label, vectors_[slot.vector])) {
      slots.push_back(place->second);
    }
  }
  return slots;
}

void Partition::Adopt(std::shared_ptr<NearestIndex> nearest, const std::vector<uint32_t>& slots) {
  nearest_ = std::move(nearest);
  for (uint32_t index : slots) slots_[index].indexed = true;
  for (uint32_t index : slots) {
    if (!slots_[index].live) removed_.push_back(slots_[index].number);
  }
  std::erase_if(unindexed_, [this](uint32_t index) { return slots_[index].indexed; });
}

void Partition::DropNearest() {
  nearest_.reset();
  removed_.clear();
  unindexed_.clear();
  for (uint32_t index = 0; index < slots_.size(); ++index) {
    Slot& slot = slots_[index];
    slot.indexed = false;
    if (slot.live && slot.vector != kNone) unindexed_.push_back(index);
  }
}

bool Partition::Matches(const Slot& slot, const FilterMatcher& filter) const {
  return slot.live &&
         ContainsAll(hashes_.data() + slot.hashes_start, slot.hashes_count, filter.hashes());
}

std::vector<uint32_t> Partition::Matching(const FilterMatcher& filter) const {
  std::vector<uint32_t> slots;
  slots.reserve(slot_of_.size());
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    if (Matches(slots_[i], filter)) slots.push_back(i);
  }
  return slots;
}

std::vector<float> Partition::QueryVector(const Embedding& embedding) const {
  const size_t count = embedding.values.size() / sizeof(float);
  if (embedding.space != space_ || count != dimensions_) return {};
  std::vector<float> vector(count);
  std::memcpy(vector.data(), embedding.values.data(), count * sizeof(float));
  return vector;
}

float Partition::Likeness(const std::vector<float>& query, float query_length, Metric metric,
                          const Slot& slot) const {
  const float* vector = vectors_[slot.vector];
  switch (metric) {
    case Metric::kCosine: {
      const float lengths = query_length * lengths_[slot.vector];
      return lengths > 0 ? DotProduct(query.data(), vector, dimensions_) / lengths : 0;
    }
    case Metric::kDotProduct:
      return DotProduct(query.data(), vector, dimensions_);
    case Metric::kEuclidean:
      return 1 / (1 + std::sqrt(SquaredDistance(query.data(), vector, dimensions_)));
    case Metric::kManhattan:
      return 1 / (1 + ManhattanDistance(query.data(), vector, dimensions_));
  }
  return 0;
}

Partition::Ranked Partition::ScoreVectors(const SearchMemoriesRequest& search,
                                          const std::vector<uint32_t>& slots) const {
  Ranked ranked;
  const std::vector<float> query = QueryVector(search.embedding);
  if (query.empty()) return ranked;
  const float length = std::sqrt(DotProduct(query.data(), query.data(), query.size()));
  ranked.reserve(slots.size());
  for (uint32_t slot : slots) {
    if (slots_[slot].vector == kNone) continue;
    ranked.push_back({slot, Likeness(query, length, search.metric, slots_[slot])});
  }
  return ranked;
}

Partition::Ranked Partition::ScoreWords(const std::string& query,
                                        const std::vector<uint32_t>& slots) const {
  const std::vector<float> scores = words_.Scores(query);
  Ranked ranked;
  for (uint32_t slot : slots) {
    const float score = scores[slot];
    if (score > 0) ranked.push_back({slot, score / (score + kWordScoreHalf)});
  }
  return ranked;
}

void Partition::KeepBest(Ranked& ranked, size_t limit) const {
  // Ties: newer first.
  auto better = [this](const Scored& a, const Scored& b) {
    return a.score != b.score ? a.score > b.score : slots_[a.slot].number > slots_[b.slot].number;
  };
  const size_t kept = std::min(limit, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<ptrdiff_t>(kept), ranked.end(),
                    better);
  ranked.resize(kept);
}

bool Partition::ScoreNearest(const SearchMemoriesRequest& search, const FilterMatcher& filter,
                             size_t count, Ranked& ranked) const {
  if (nearest_ == nullptr || search.metric != Metric::kCosine || count > kNearestCountMax ||
      unindexed_.size() > slot_of_.size() / kUnindexedShare) {
    return false;
  }
  const std::vector<float> query = QueryVector(search.embedding);
  if (query.empty()) return false;
  const size_t asked = std::max(kNearestAskedMin, kNearestAskedPerHit * count);
  for (const auto& [label, cosine] : nearest_->Nearest(query.data(), asked, asked)) {
    auto place = slot_of_.find(label);
    if (place == slot_of_.end() || !slots_[place->second].indexed) continue;
    if (Matches(slots_[place->second], filter)) ranked.push_back({place->second, cosine});
  }
  // The filter removed too many: compare exactly what matches the filter.
  if (ranked.size() < count) return false;
  const float length = std::sqrt(DotProduct(query.data(), query.data(), query.size()));
  for (uint32_t index : unindexed_) {
    if (!Matches(slots_[index], filter)) continue;
    ranked.push_back({index, Likeness(query, length, search.metric, slots_[index])});
  }
  return true;
}

Partition::Ranked Partition::RankByVector(const SearchMemoriesRequest& search,
                                          const FilterMatcher& filter, size_t count) const {
  Ranked ranked;
  if (!ScoreNearest(search, filter, count, ranked)) {
    ranked = ScoreVectors(search, Matching(filter));
  }
  KeepBest(ranked, count);
  return ranked;
}

Partition::Ranked Partition::RankByAge(const SearchMemoriesRequest& search,
                                       const FilterMatcher& filter, size_t limit) const {
  std::vector<uint32_t> slots = Matching(filter);
  std::ranges::sort(slots,
                    [this](uint32_t a, uint32_t b) { return slots_[a].number > slots_[b].number; });
  Ranked ranked;
  const std::vector<float> query = QueryVector(search.embedding);
  const float length = std::sqrt(DotProduct(query.data(), query.data(), query.size()));
  for (uint32_t slot : slots) {
    if (ranked.size() == limit) break;
    const bool comparable = !query.empty() && slots_[slot].vector != kNone;
    const float score = comparable ? Likeness(query, length, search.metric, slots_[slot]) : 0;
    if (!search.score_min || score >= *search.score_min) ranked.push_back({slot, score});
  }
  return ranked;
}

Partition::Ranked Partition::Fuse(const Ranked& by_vector, const Ranked& by_words) const {
  std::unordered_map<uint32_t, double> sums;
  for (const Ranked* ranked : {&by_vector, &by_words}) {
    for (size_t i = 0; i < ranked->size(); ++i) {
      sums[(*ranked)[i].slot] += 1 / (kRankOffset + 1 + static_cast<double>(i));
    }
  }
  constexpr double kBest = 2 / (kRankOffset + 1);
  Ranked fused;
  fused.reserve(sums.size());
  for (const auto& [slot, sum] : sums) fused.push_back({slot, static_cast<float>(sum / kBest)});
  return fused;
}

std::vector<Candidate> Partition::Search(const SearchMemoriesRequest& search,
                                         const FilterMatcher& filter, size_t limit) const {
  Ranked ranked;
  switch (search.ranking) {
    case Ranking::kVector:
      ranked = RankByVector(search, filter, limit);
      break;
    case Ranking::kNewest:
      ranked = RankByAge(search, filter, limit);
      break;
    case Ranking::kWords:
      ranked = ScoreWords(search.query, Matching(filter));
      break;
    case Ranking::kHybrid: {
      const size_t places = std::max(kFusedMin, kFusedPerHit * limit);
      Ranked by_words = ScoreWords(search.query, Matching(filter));
      KeepBest(by_words, places);
      ranked = Fuse(RankByVector(search, filter, places), by_words);
      break;
    }
  }
  if (search.score_min) {
    std::erase_if(ranked, [&](const Scored& s) { return s.score < *search.score_min; });
  }
  if (search.ranking != Ranking::kNewest) KeepBest(ranked, limit);
  std::vector<Candidate> candidates;
  candidates.reserve(ranked.size());
  for (const Scored& scored : ranked) {
    const Slot& slot = slots_[scored.slot];
    candidates.push_back({{owners_[slot.owner], slot.number}, scored.score});
  }
  return candidates;
}

}  // namespace agent_graph::state

// Approximate nearest-neighbour index by cosine, based on hnswlib's graph. It finds neighbours
// without comparing all vectors; callers that need exact results compare all vectors themselves.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace agent_graph::state {

// Thread-safe.
class NearestIndex {
 public:
  NearestIndex(size_t dimensions, size_t capacity);
  ~NearestIndex();
  NearestIndex(const NearestIndex&) = delete;
  NearestIndex& operator=(const NearestIndex&) = delete;

  // Adds a vector, or replaces that of an existing label. Takes about a millisecond.
  Status Add(uint64_t label, const float* vector);
  void Remove(uint64_t label);

  struct Neighbour {
    uint64_t label = 0;
    float cosine = 0;
  };
  // Returns neighbours, nearest first. A higher `effort` (at least `count`) gives better recall.
  std::vector<Neighbour> Nearest(const float* vector, size_t count, size_t effort) const;

  std::vector<uint64_t> Labels() const;
  // True if the label has a vector with this direction.
  bool Holds(uint64_t label, const float* vector) const;
  size_t bytes() const;
  // Estimated bytes of an index with this many vectors.
  static size_t BytesOf(size_t dimensions, size_t vectors);

  // Writes the index atomically: after a crash the file is complete or absent. `space` identifies
  // the contents. Searches continue meanwhile. Like Load, it ends with kCancelled soon after
  // `stopping` (may be null) is set.
  Status Save(const std::string& file, const std::string& space,
              const std::atomic<bool>* stopping = nullptr) const;
  // Returns kNotFound if there is no file for this space, kDataLoss if it is damaged.
  static Result<std::shared_ptr<NearestIndex>> Load(const std::string& file,
                                                    const std::string& space, size_t dimensions,
                                                    const std::atomic<bool>* stopping = nullptr);

 private:
  struct Implementation;
  explicit NearestIndex(std::unique_ptr<Implementation> implementation);
  const std::unique_ptr<Implementation> implementation_;
};

}  // namespace agent_graph::state

// Vectors in an order that finds the nearest ones without looking at all: hnswlib's graph, by
// direction (cosine). Approximate; whoever needs certainty compares all vectors.
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

  // A label that is known gets the new vector. About a millisecond.
  Status Add(uint64_t label, const float* vector);
  void Remove(uint64_t label);

  struct Neighbour {
    uint64_t label = 0;
    float cosine = 0;
  };
  // Nearest first; a larger `effort` (at least `count`) finds more of the true ones.
  std::vector<Neighbour> Nearest(const float* vector, size_t count, size_t effort) const;

  std::vector<uint64_t> Labels() const;
  // The label is there with a vector of this direction.
  bool Holds(uint64_t label, const float* vector) const;
  size_t bytes() const;
  // What so many vectors will take.
  static size_t BytesOf(size_t dimensions, size_t vectors);

  // A file that is whole or absent, whenever the process dies. `space` names what is in it.
  // Searches go on meanwhile. Like Load it ends with kCancelled soon after `stopping`, which may be
  // null, is set.
  Status Save(const std::string& file, const std::string& space,
              const std::atomic<bool>* stopping = nullptr) const;
  // kNotFound when there is none of this space; kDataLoss when it is damaged.
  static Result<std::shared_ptr<NearestIndex>> Load(const std::string& file,
                                                    const std::string& space, size_t dimensions,
                                                    const std::atomic<bool>* stopping = nullptr);

 private:
  struct Implementation;
  explicit NearestIndex(std::unique_ptr<Implementation> implementation);
  const std::unique_ptr<Implementation> implementation_;
};

}  // namespace agent_graph::state

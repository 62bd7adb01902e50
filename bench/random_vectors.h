// Embeddings for benchmarks.
#pragma once

#include <cmath>
#include <random>
#include <vector>

namespace agent_graph {

// Vectors of length 1 around random centres, because embeddings are not distributed evenly either.
class RandomVectors {
 public:
  RandomVectors(size_t dimensions, size_t centres) : dimensions_(dimensions) {
    for (size_t i = 0; i < centres; ++i) centres_.push_back(Draw(nullptr, 1));
  }
  std::vector<float> Next() { return Draw(&centres_[random_() % centres_.size()], 0.6f); }

 private:
  std::vector<float> Draw(const std::vector<float>* centre, float spread) {
    std::vector<float> vector(dimensions_);
    float square = 0;
    for (size_t i = 0; i < dimensions_; ++i) {
      vector[i] = normal_(random_) * spread / std::sqrt(static_cast<float>(dimensions_));
      if (centre != nullptr) vector[i] += (*centre)[i];
      square += vector[i] * vector[i];
    }
    for (float& value : vector) value /= std::sqrt(square);
    return vector;
  }

  const size_t dimensions_;
  std::mt19937 random_{7};
  std::normal_distribution<float> normal_;
  std::vector<std::vector<float>> centres_;
};

}  // namespace agent_graph

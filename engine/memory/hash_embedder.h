// `hash`: a local, deterministic embedding by feature hashing. It needs no model, key or network.
// Texts that share words, or parts of words, are close to each other.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "memory/embedder.h"

namespace agent_graph::memory {

inline constexpr size_t kHashDimensions = 256;

// A vector of length 1, or all zeros for a text without words.
std::vector<float> HashText(std::string_view text, size_t dimensions);

class HashEmbedder : public Embedder {
 public:
  explicit HashEmbedder(size_t dimensions);

  Result<std::vector<float>> Embed(const std::string& text,
                                   const runtime::Cancellation& cancellation,
                                   Deadline deadline) override;
  const std::string& space() const override { return space_; }
  void Close() override {}

 private:
  const size_t dimensions_;
  const std::string space_;
};

std::unique_ptr<Embedder> CreateHashEmbedder(const EmbeddingOptions& options,
                                             const Environment& environment);

}  // namespace agent_graph::memory

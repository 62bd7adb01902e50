#include "memory/hash_embedder.h"

#include <cmath>
#include <cstdint>
#include <unordered_map>

#include "base/words.h"
#include "runtime/runtime.h"

namespace agent_graph::memory {
namespace {

// Change it whenever the vectors of the same text change.
constexpr char kVersion[] = "hash-1:";

constexpr float kWordWeight = 1.0f;
// Most short words carry little meaning.
constexpr float kShortWordWeight = 0.35f;
constexpr size_t kShortWordBytes = 3;
constexpr float kPartWeight = 0.25f;
constexpr size_t kPartBytes = 4;

// Hashing a text of this size takes about a millisecond.
constexpr size_t kInlineBytes = 64 * 1024;

uint64_t Fnv1a(std::string_view text, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325u ^ seed;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  // The low bits choose the dimension, so they must depend on the whole text.
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93u;
  return hash ^ (hash >> 32);
}

// The features of a text, each with its weighted count.
class Features {
 public:
  void AddWord(std::string_view word) {
    const std::string_view form = SearchForm(word);
    Add(form, 1, form.size() <= kShortWordBytes ? kShortWordWeight : kWordWeight);
    if (form.size() <= kPartBytes) return;
    for (size_t i = 0; i + kPartBytes <= form.size(); ++i) {
      Add(form.substr(i, kPartBytes), 2, kPartWeight);
    }
  }

  std::vector<float> Fold(size_t dimensions) const {
    std::vector<float> vector(dimensions);
    for (const auto& [hash, feature] : features_) {
      const float value = feature.weight * (1.0f + std::log(feature.count));
      vector[hash % dimensions] += (hash >> 63) != 0 ? -value : value;
    }
    float square = 0;
    for (float value : vector) square += value * value;
    if (square > 0) {
      const float scale = 1.0f / std::sqrt(square);
      for (float& value : vector) value *= scale;
    }
    return vector;
  }

 private:
  struct Feature {
    float weight = 0;
    float count = 0;
  };

  void Add(std::string_view text, uint64_t seed, float weight) {
    Feature& feature = features_[Fnv1a(text, seed)];
    feature.weight = weight;
    feature.count += 1;
  }

  std::unordered_map<uint64_t, Feature> features_;
};

}  // namespace

std::vector<float> HashText(std::string_view text, size_t dimensions) {
  Features features;
  ForEachWord(text, [&](std::string_view word) { features.AddWord(word); });
  return features.Fold(dimensions);
}

HashEmbedder::HashEmbedder(size_t dimensions)
    : dimensions_(dimensions), space_(kVersion + std::to_string(dimensions)) {}

Result<std::vector<float>> HashEmbedder::Embed(const std::string& text,
                                               const runtime::Cancellation&, Deadline) {
  if (text.size() <= kInlineBytes || runtime::Runtime::Current() == nullptr) {
    return HashText(text, dimensions_);
  }
  std::vector<float> vector;
  runtime::Runtime::Current()->RunOnIoPool([&] { vector = HashText(text, dimensions_); });
  return vector;
}

std::unique_ptr<Embedder> CreateHashEmbedder(const EmbeddingOptions& options, const Environment&) {
  return std::make_unique<HashEmbedder>(options.dimensions > 0 ? options.dimensions
                                                               : kHashDimensions);
}

}  // namespace agent_graph::memory

#include "memory/hash_embedder.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/words.h"
#include "runtime/runtime.h"

namespace agent_graph::memory {
namespace {

// Change it whenever the vectors of the same text change by more than rounding: new vectors are
// compared with stored ones.
constexpr char kVersion[] = "hash-1:";

constexpr float kWordWeight = 1.0f;
// Most short words carry little meaning.
constexpr float kShortWordWeight = 0.35f;
constexpr size_t kShortWordBytes = 3;
constexpr float kPartWeight = 0.25f;
constexpr size_t kPartBytes = 4;

// Hashing a text of this size takes about a millisecond.
constexpr size_t kInlineBytes = 16 * 1024;

uint64_t Fnv1a(std::string_view text, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325u ^ seed;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  // The low bits choose the dimension, so they must depend on the whole text.
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93u;
  return hash ^ (hash >> 32);
}

// The features of a text, each with its weight.
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

  // Counts the features by sorting them: the time of a hash table would depend on the words that a
  // client chooses. The order also fixes the rounding of the sums.
  std::vector<float> Fold(size_t dimensions) && {
    std::ranges::sort(features_, {}, &Feature::hash);
    std::vector<float> vector(dimensions);
    for (auto first = features_.begin(); first != features_.end();) {
      const uint64_t hash = first->hash;
      const auto end = std::find_if(
          first, features_.end(), [hash](const Feature& feature) { return feature.hash != hash; });
      const float value = first->weight * (1.0f + std::log(static_cast<float>(end - first)));
      vector[hash % dimensions] += (hash >> 63) != 0 ? -value : value;
      first = end;
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
    uint64_t hash = 0;
    float weight = 0;
  };

  void Add(std::string_view text, uint64_t seed, float weight) {
    features_.push_back({Fnv1a(text, seed), weight});
  }

  std::vector<Feature> features_;
};

}  // namespace

std::vector<float> HashText(std::string_view text, size_t dimensions) {
  Features features;
  ForEachWord(text, [&](std::string_view word) { features.AddWord(word); });
  return std::move(features).Fold(dimensions);
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

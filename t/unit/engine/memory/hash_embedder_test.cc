#include "memory/hash_embedder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "../base/colliding_words.h"

namespace agent_graph::memory {
namespace {

float Cosine(const std::string& a, const std::string& b) {
  const std::vector<float> left = HashText(a, kHashDimensions);
  const std::vector<float> right = HashText(b, kHashDimensions);
  float sum = 0;
  for (size_t i = 0; i < left.size(); ++i) sum += left[i] * right[i];
  return sum;
}

TEST(HashEmbedder, SameTextSameVectorOfLengthOne) {
  EXPECT_NEAR(Cosine("The user likes green tea.", "The user likes green tea."), 1, 1e-5);
  EXPECT_NEAR(Cosine("green tea", "GREEN   Tea!"), 1, 1e-5);
  EXPECT_EQ(HashText("x", 64).size(), 64u);
}

TEST(HashEmbedder, TextsThatShareWordsAreNearer) {
  const std::string query = "what tea does the user like";
  EXPECT_GT(Cosine(query, "The user likes green tea."),
            Cosine(query, "The meeting was moved to Monday."));
  EXPECT_GT(Cosine("programming", "programmer"), Cosine("programming", "gardening tools"));
}

TEST(HashEmbedder, ATextWithoutWordsIsTheZeroVector) {
  for (float value : HashText("?!", kHashDimensions)) EXPECT_EQ(value, 0);
}

TEST(HashEmbedder, VectorsStayTheSameFromVersionToVersion) {
  // Stored vectors are compared with new ones, so a change of the hash requires a new space name.
  const std::vector<float> vector = HashText("tea", 8);
  EXPECT_EQ(HashEmbedder(8).space(), "hash-1:8");
  size_t place = 8;
  for (size_t i = 0; i < 8; ++i) {
    if (vector[i] != 0) place = i;
  }
  EXPECT_EQ(std::fabs(vector.at(place)), 1.0f);
}

// Both are measured here, side by side; a table with one bucket is more than ten times slower.
TEST(HashEmbedder, TakesNoLongerForWordsThatCollide) {
  constexpr size_t kWords = 2'000;
  constexpr int kSlower = 4;
  const auto measure = [](const std::string& text) {
    return testing::FastestNanoseconds([&text] { (void)HashText(text, kHashDimensions); });
  };
  // The hash of a word, as the embedder computes it.
  const auto hash = [](std::string_view word) {
    uint64_t value = 0xcbf29ce484222325u ^ 1;
    for (char c : word) value = (value ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
    value ^= value >> 32;
    value *= 0xd6e8feb86659fd93u;
    return value ^ (value >> 32);
  };
  const std::string colliding = testing::CollidingWords(kWords, hash);
  EXPECT_LT(measure(colliding), kSlower * measure(testing::PlainWords(kWords)));
}

TEST(HashEmbedder, AWordThatOccursTwiceCountsMoreButNotDouble) {
  const std::vector<float> vector = HashText("tea tea cup", 4096);
  std::vector<float> values;
  for (float value : vector) {
    if (value != 0) values.push_back(std::fabs(value));
  }
  ASSERT_EQ(values.size(), 2u);
  const auto [least, most] = std::minmax(values[0], values[1]);
  EXPECT_NEAR(most / least, 1 + std::log(2.0f), 1e-5);
}

}  // namespace
}  // namespace agent_graph::memory

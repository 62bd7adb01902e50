#include "memory/hash_embedder.h"

#include <gtest/gtest.h>

#include <cmath>

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

}  // namespace
}  // namespace agent_graph::memory

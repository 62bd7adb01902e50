#include "models/repeated_chunk.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::models {
namespace {

// Remembers `{"a":"TEXT","b":1}` with its text.
class RepeatedChunkTest : public testing::Test {
 protected:
  RepeatedChunkTest() { Remember("text"); }

  static std::string Chunk(const std::string& text) { return R"({"a":")" + text + R"(","b":1})"; }
  void Remember(const std::string& text) {
    chunk_ = Chunk(text);
    repeated_.Remember(chunk_, std::string_view(chunk_).substr(6, text.size()));
  }
  std::optional<std::string> Match(const std::string& chunk) const {
    const std::optional<std::string_view> text = repeated_.Match(chunk);
    return text ? std::optional<std::string>(*text) : std::nullopt;
  }

  std::string chunk_;
  RepeatedChunk repeated_;
};

TEST_F(RepeatedChunkTest, GivesTheTextOfChunksThatAreOtherwiseEqual) {
  EXPECT_EQ(Match(chunk_), "text");
  EXPECT_EQ(Match(Chunk("a longer text")), "a longer text");
  EXPECT_EQ(Match(Chunk("\xe2\x82\xac")), "\xe2\x82\xac");
}

TEST_F(RepeatedChunkTest, OtherChunksHaveToBeParsed) {
  EXPECT_EQ(Match(R"({"a":"text","b":2})"), std::nullopt);
  EXPECT_EQ(Match(R"({"c":"text","b":1})"), std::nullopt);
  EXPECT_EQ(Match(R"({"a":"text","b":1} )"), std::nullopt);
  EXPECT_EQ(Match(R"({"a":"text")"), std::nullopt);
  EXPECT_EQ(Match(""), std::nullopt);
  // The beginning and the end overlap.
  EXPECT_EQ(Match(R"({"a":","b":1})"), std::nullopt);
}

TEST_F(RepeatedChunkTest, TextsThatAreMoreThanTheirBytesHaveToBeParsed) {
  EXPECT_EQ(Match(Chunk("")), std::nullopt);  // another member may count instead
  EXPECT_EQ(Match(Chunk(R"(\n)")), std::nullopt);
  EXPECT_EQ(Match(Chunk(R"(","c":")")), std::nullopt);
  EXPECT_EQ(Match(Chunk("two\nlines")), std::nullopt);
}

TEST_F(RepeatedChunkTest, ForgetsTheChunkBefore) {
  repeated_.Remember(chunk_, "text");  // does not point into the chunk
  EXPECT_EQ(Match(chunk_), std::nullopt);
  Remember("next");
  EXPECT_EQ(Match(chunk_), "next");
  Remember("");
  EXPECT_EQ(Match(Chunk("text")), std::nullopt);
  const std::string large = Chunk("text") + std::string(2000, ' ');
  repeated_.Remember(large, std::string_view(large).substr(6, 4));
  EXPECT_EQ(Match(large), std::nullopt);
}

}  // namespace
}  // namespace agent_graph::models

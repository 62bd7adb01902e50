#include "base/percent_encoding.h"

#include <gtest/gtest.h>

namespace agent_graph {
namespace {

constexpr std::string_view kUnreserved =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";

TEST(PercentEncode, LeavesUnreservedCharactersOnly) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    const bool bare = kUnreserved.find(text) != std::string_view::npos;
    EXPECT_EQ(PercentEncode(text).size(), bare ? 1u : 3u) << byte;
  }
  EXPECT_EQ(PercentEncode("a/b= \xc3\xa9+\n"), "a%2Fb%3D%20%C3%A9%2B%0A");
  EXPECT_EQ(PercentEncode(""), "");
}

TEST(PercentEncode, KeepsWhatItIsToldTo) {
  EXPECT_EQ(PercentEncode("/a b/~?", "/"), "/a%20b/~%3F");
}

TEST(PercentDecode, UndoesWhatWasEncoded) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  std::string decoded = "what was there";
  EXPECT_TRUE(PercentDecode(PercentEncode(all), decoded));
  EXPECT_EQ(decoded, all);
  EXPECT_EQ(PercentDecodeLeniently(PercentEncode(all)), all);
}

TEST(PercentDecode, TakesDigitsInEitherCase) {
  std::string decoded;
  EXPECT_TRUE(PercentDecode("%c3%A9+%2f", decoded));
  EXPECT_EQ(decoded, "\xc3\xa9+/");
}

TEST(PercentDecode, RefusesBrokenEscapes) {
  std::string decoded;
  for (const char* text : {"%", "a%", "%4", "%4x", "%x4", "%%41", "%-1"}) {
    EXPECT_FALSE(PercentDecode(text, decoded)) << text;
  }
}

TEST(PercentDecode, LenientlyLeavesBrokenEscapes) {
  for (const char* text : {"%", "a%", "%4", "%4x", "%x4", "%-1"}) {
    EXPECT_EQ(PercentDecodeLeniently(text), text);
  }
  EXPECT_EQ(PercentDecodeLeniently("%%41%"), "%A%");
  EXPECT_EQ(PercentDecodeLeniently("%2541"), "%41");  // decoded only once
}

}  // namespace
}  // namespace agent_graph

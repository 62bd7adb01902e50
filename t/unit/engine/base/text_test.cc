#include "base/text.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

namespace agent_graph {
namespace {

TEST(TextTest, CutsBetweenCharacters) {
  EXPECT_EQ(CutAtCharacter("abc", 3), "abc");
  EXPECT_EQ(CutAtCharacter("abc", 2), "ab");
  EXPECT_EQ(CutAtCharacter("aéb", 2), "a");
  EXPECT_EQ(CutAtCharacter("€", 2), "");
  // Invalid UTF-8.
  EXPECT_EQ(CutAtCharacter("\x80\x80\x80", 2), "");
}

TEST(TextTest, OneLineHasNoControlCharacters) {
  EXPECT_EQ(OneLine(std::string("a\r\nb\0c\x1b[0m\x7f", 11), 100), "a  b c [0m ");
  EXPECT_EQ(OneLine("aé", 2), "a");
}

TEST(TextTest, BlankTextIsWhiteSpaceOnly) {
  EXPECT_TRUE(IsBlank(""));
  EXPECT_TRUE(IsBlank(" \t\r\n\v\x1c"));
  EXPECT_TRUE(IsBlank("\u00a0\u3000 \u2028"));
  EXPECT_FALSE(IsBlank(" \u00a0."));
  EXPECT_FALSE(IsBlank("\u200b"));  // has no width but is not a space
  EXPECT_FALSE(IsBlank("\xc2"));
}

TEST(TextTest, TrimTakesBlanksOffBothEnds) {
  EXPECT_EQ(Trim(" \ta b\t "), "a b");
  EXPECT_EQ(Trim(" \t "), "");
  EXPECT_EQ(Trim(""), "");
  EXPECT_EQ(Trim(" a\r"), "a\r");
  EXPECT_EQ(Trim("\ta\r ", " \r"), "\ta");
}

TEST(TextTest, JoinNamesSeparatesTheLastNameDifferently) {
  const std::vector<std::string_view> names = {"demo", "openai", "gemini"};
  EXPECT_EQ(JoinNames(names, ", ", " or "), "demo, openai or gemini");
  EXPECT_EQ(JoinNames(names, ", "), "demo, openai, gemini");
  EXPECT_EQ(JoinNames(std::span(names).first(2), ", ", " and "), "demo and openai");
  EXPECT_EQ(JoinNames(std::span(names).first(1), ", ", " and "), "demo");
  EXPECT_EQ(JoinNames({}, ", "), "");
}

TEST(TextTest, DotComponentsStandBetweenSlashes) {
  for (const char* path : {".", "..", "a/..", "../a", "a/../b", "a/./b", "/..", "../", "//..//"}) {
    EXPECT_TRUE(HasDotComponent(path)) << path;
  }
  for (const char* path : {"", "...", "a..b", ".a", "a.", "..a/b..", "/", "a//b", "\\..\\"}) {
    EXPECT_FALSE(HasDotComponent(path)) << path;
  }
}

}  // namespace
}  // namespace agent_graph

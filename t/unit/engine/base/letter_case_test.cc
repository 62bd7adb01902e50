#include "base/letter_case.h"

#include <gtest/gtest.h>

namespace agent_graph {
namespace {

TEST(LowerCase, ChangesAsciiLettersOnly) {
  EXPECT_EQ(LowerCase("AZaz09@[`{"), "azaz09@[`{");
  EXPECT_EQ(LowerCase("\xc3\x89T\xc3\x89"), "\xc3\x89t\xc3\x89");  // É is two bytes
  EXPECT_EQ(LowerCase(""), "");
}

TEST(LowerCase, LeavesEveryOtherByte) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    EXPECT_EQ(LowerCase(c), c >= 'A' && c <= 'Z' ? static_cast<char>(byte + 32) : c) << byte;
  }
}

TEST(EqualsIgnoringCase, ComparesLettersInEitherCase) {
  EXPECT_TRUE(EqualsIgnoringCase("Content-Type", "content-TYPE"));
  EXPECT_TRUE(EqualsIgnoringCase("", ""));
  EXPECT_FALSE(EqualsIgnoringCase("content", "content-type"));
  EXPECT_FALSE(EqualsIgnoringCase("content-type", "content"));
  EXPECT_FALSE(EqualsIgnoringCase("@", "`"));  // they differ by 32, like 'A' and 'a'
}

TEST(StartsWithIgnoringCase, ComparesTheBeginning) {
  EXPECT_TRUE(StartsWithIgnoringCase("HTTPS://host", "https://"));
  EXPECT_TRUE(StartsWithIgnoringCase("bytes=", "Bytes="));
  EXPECT_TRUE(StartsWithIgnoringCase("anything", ""));
  EXPECT_FALSE(StartsWithIgnoringCase("http", "https://"));
  EXPECT_FALSE(StartsWithIgnoringCase("xhttp://", "http://"));
}

TEST(ContainsIgnoringCase, FindsAPieceAnywhere) {
  EXPECT_TRUE(ContainsIgnoringCase("Hello World", "LO wO"));
  EXPECT_TRUE(ContainsIgnoringCase("Hello", "hello"));
  EXPECT_TRUE(ContainsIgnoringCase("caf\xc3\xa9", "\xc3\xa9"));
  EXPECT_TRUE(ContainsIgnoringCase("anything", ""));
  EXPECT_TRUE(ContainsIgnoringCase("", ""));
  EXPECT_FALSE(ContainsIgnoringCase("Hello", "help"));
  EXPECT_FALSE(ContainsIgnoringCase("Hell", "hello"));
}

}  // namespace
}  // namespace agent_graph

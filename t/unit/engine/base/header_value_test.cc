#include "base/header_value.h"

#include <gtest/gtest.h>

namespace agent_graph {
namespace {

TEST(HeaderValueTest, HasNoControlCharactersExceptTabs) {
  for (const char* text : {"", "a b", "a\tb", "\"x\"; y", "\xc3\xbc"}) {
    EXPECT_TRUE(IsHeaderValue(text)) << text;
  }
  for (const char* text : {"a\r\nb: c", "a\nb", "\r", "\x01", "a\x1f", "\x7f"}) {
    EXPECT_FALSE(IsHeaderValue(text)) << text;
  }
  EXPECT_FALSE(IsHeaderValue(std::string_view("\0", 1)));
}

}  // namespace
}  // namespace agent_graph

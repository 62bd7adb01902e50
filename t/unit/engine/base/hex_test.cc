#include "base/hex.h"

#include <gtest/gtest.h>

#include <string_view>

namespace agent_graph {
namespace {

TEST(Hex, WritesTwoDigitsAByte) {
  constexpr std::string_view kBytes("\x00\x0f\x10\xab\xff", 5);
  EXPECT_EQ(Hex(kBytes.data(), kBytes.size()), "000f10abff");
  EXPECT_EQ(Hex(nullptr, 0), "");
}

TEST(Hex, AppendsOneByte) {
  std::string text = "\\x";
  AppendHex(0x7f, text);
  EXPECT_EQ(text, "\\x7f");
}

TEST(Hex, KnowsTheValuesOfDigits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const size_t found = kDigits.find(c);
    const int value = found == std::string_view::npos ? -1 : static_cast<int>(found);
    EXPECT_EQ(LowerHexValue(c), value) << byte;
    EXPECT_EQ(HexValue(c), c >= 'A' && c <= 'F' ? c - 'A' + 10 : value) << byte;
  }
}

}  // namespace
}  // namespace agent_graph

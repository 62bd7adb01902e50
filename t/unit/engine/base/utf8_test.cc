#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace agent_graph {
namespace {

// Implements the table of well-formed sequences directly, code point by code point.
bool IsUtf8ByDefinition(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    auto lead = static_cast<uint8_t>(text[i]);
    int length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if ((lead >= 0x80 && lead < 0xC0) || lead >= 0xF8 || i + length > text.size()) return false;
    uint32_t point = length == 1 ? lead : lead & (0x7F >> length);
    for (int k = 1; k < length; ++k) {
      auto next = static_cast<uint8_t>(text[i + k]);
      if ((next & 0xC0) != 0x80) return false;
      point = point << 6 | (next & 0x3F);
    }
    constexpr uint32_t kLowest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < kLowest[length] || point > 0x10FFFF) return false;
    if (point >= 0xD800 && point <= 0xDFFF) return false;
    i += length;
  }
  return true;
}

TEST(Utf8, AgreesWithTheDefinitionOnAllShortSequences) {
  for (uint32_t value = 0; value < 0x1000000; value += 1) {
    std::string text{static_cast<char>(value >> 16), static_cast<char>(value >> 8),
                     static_cast<char>(value)};
    if (IsUtf8(text) != IsUtf8ByDefinition(text)) FAIL() << std::hex << value;
  }
}

TEST(Utf8, AgreesWithTheDefinitionOnFourBytes) {
  constexpr int kEdges[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0,
                            0xC2, 0xDF, 0xE0, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF};
  for (int a = 0xF0; a <= 0xFF; ++a) {
    for (int b = 0; b < 0x100; ++b) {
      for (int c : kEdges) {
        for (int d : kEdges) {
          std::string text{static_cast<char>(a), static_cast<char>(b), static_cast<char>(c),
                           static_cast<char>(d)};
          ASSERT_EQ(IsUtf8(text), IsUtf8ByDefinition(text))
              << a << ' ' << b << ' ' << c << ' ' << d;
        }
      }
    }
  }
}

TEST(Utf8, MeasuresTheFirstCharacter) {
  for (std::string_view character :
       {"a", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEF\xBF\xBD",
        "\xF0\x90\x80\x80", "\xF3\xA0\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(Utf8CharacterSize(character), character.size());
    EXPECT_EQ(Utf8CharacterSize(std::string(character) + "\xFF"), character.size());
    if (character.size() > 1) {
      EXPECT_EQ(Utf8CharacterSize(character.substr(0, character.size() - 1)), 0u);
    }
  }
  for (std::string_view wrong :
       {"\x80", "\xBF", "\xC1\xBF", "\xC2\x41", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80"}) {
    EXPECT_EQ(Utf8CharacterSize(wrong), 0u);
  }
}

TEST(Utf8, FailsAtTheFirstImpossibleByte) {
  Utf8Validator validator;
  EXPECT_TRUE(validator.Feed("\xF4"));
  EXPECT_FALSE(validator.complete());
  EXPECT_FALSE(validator.Feed("\x90"));  // above U+10FFFF, before the character is complete
}

TEST(Utf8, FindsAFaultBehindLongAscii) {
  for (size_t before = 0; before < 20; ++before) {
    EXPECT_FALSE(IsUtf8(std::string(before, 'a') + "\xFF" + std::string(20, 'b'))) << before;
    EXPECT_TRUE(IsUtf8(std::string(before, 'a') + "\xC3\xA9" + std::string(20, 'b'))) << before;
  }
}

}  // namespace
}  // namespace agent_graph

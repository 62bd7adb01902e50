#include <gtest/gtest.h>

#include <random>
#include <string>

#include "client_frames.h"
#include "websocket/mask.h"
#include "websocket/protocol.h"
#include "websocket/utf8.h"

namespace agent_graph::websocket {
namespace {

TEST(Unmask, EqualsAByteLoopForEveryLengthOffsetAndAlignment) {
  const MaskingKey key{0x12, 0x00, 0xFF, 0xA7};
  std::mt19937 random(7);
  std::string source(64, '\0');
  for (char& c : source) c = static_cast<char>(random());
  for (size_t alignment = 0; alignment < 8; ++alignment) {
    for (size_t length = 0; length + alignment <= 48; ++length) {
      for (uint64_t offset = 0; offset < 9; ++offset) {
        std::string expected = source;
        for (size_t i = 0; i < length; ++i) {
          expected[alignment + i] =
              static_cast<char>(expected[alignment + i] ^ key[(offset + i) % 4]);
        }
        std::string bytes = source;
        Unmask(std::span(bytes).subspan(alignment, length), key, offset);
        ASSERT_EQ(bytes, expected) << alignment << ' ' << length << ' ' << offset;
      }
    }
  }
}

TEST(Unmask, TakesOffsetsBeyond32Bits) {
  std::string bytes = "abcd";
  Unmask(bytes, {1, 2, 3, 4}, (uint64_t{1} << 40) + 1);
  EXPECT_EQ(bytes, (std::string{'a' ^ 2, 'b' ^ 3, 'c' ^ 4, 'd' ^ 1}));
}

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

TEST(Frame, UsesTheShortestLength) {
  for (size_t size : {0u, 1u, 125u, 126u, 127u, 65535u, 65536u, 100000u}) {
    std::string bytes;
    AppendFrame(bytes, Opcode::kBinary, std::string(size, 'x'));
    auto frames = DecodeServerFrames(bytes);
    ASSERT_TRUE(frames.has_value()) << size;
    ASSERT_EQ(frames->size(), 1u);
    EXPECT_EQ(frames->front(), (ServerFrame{0x82, std::string(size, 'x')}));
  }
}

TEST(CloseFrame, CarriesCodeAndReason) {
  std::string bytes;
  AppendCloseFrame(bytes, close_code::kPolicy, "not live");
  EXPECT_EQ(bytes, "\x88\x0A" + ClosePayload(1008, "not live"));
}

TEST(CloseFrame, WithoutACodeIsEmpty) {
  std::string bytes;
  AppendCloseFrame(bytes, close_code::kNone, "ignored");
  EXPECT_EQ(bytes, std::string("\x88\0", 2));
}

TEST(CloseFrame, CutsALongReasonBetweenCharacters) {
  std::string reason(122, 'a');
  reason += "\xE2\x82\xAC rest";
  std::string bytes;
  AppendCloseFrame(bytes, 1011, reason);
  auto frames = DecodeServerFrames(bytes);
  ASSERT_TRUE(frames.has_value());
  EXPECT_EQ(frames->front().payload, ClosePayload(1011, std::string(122, 'a')));
}

TEST(CloseCode, OnlyThoseThatMayTravel) {
  for (int code = 0; code <= 0xFFFF; ++code) {
    bool expected = (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
                    (code >= 3000 && code <= 4999);
    ASSERT_EQ(IsSendableCloseCode(static_cast<uint16_t>(code)), expected) << code;
  }
}

}  // namespace
}  // namespace agent_graph::websocket

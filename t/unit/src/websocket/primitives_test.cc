#include <gtest/gtest.h>

#include <random>
#include <string>

#include "client_frames.h"
#include "websocket/mask.h"
#include "websocket/protocol.h"

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

TEST(CloseFrame, LeavesOutAReasonThatIsNotUtf8) {
  std::string bytes;
  AppendCloseFrame(bytes, 1011,
                   "\xFF"
                   "broken");
  EXPECT_EQ(bytes, "\x88\x02" + ClosePayload(1011, ""));
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

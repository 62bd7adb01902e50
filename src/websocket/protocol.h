// Constants and frames of RFC 6455.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agent_graph::websocket {

enum class Opcode : uint8_t {
  kContinuation = 0x0,
  kText = 0x1,
  kBinary = 0x2,
  kClose = 0x8,
  kPing = 0x9,
  kPong = 0xA,
};

namespace close_code {
inline constexpr uint16_t kNormal = 1000;
inline constexpr uint16_t kGoingAway = 1001;
inline constexpr uint16_t kProtocolError = 1002;
inline constexpr uint16_t kUnsupportedData = 1003;
inline constexpr uint16_t kNone = 1005;      // a Close without a code; never sent
inline constexpr uint16_t kAbnormal = 1006;  // no Close at all; never sent
inline constexpr uint16_t kInvalidPayload = 1007;
inline constexpr uint16_t kPolicy = 1008;
inline constexpr uint16_t kTooBig = 1009;
inline constexpr uint16_t kInternal = 1011;
inline constexpr uint16_t kTryAgainLater = 1013;
}  // namespace close_code

// Values of the 7-bit length that announce a length of 16 or 64 bits.
inline constexpr uint8_t kLength16 = 126;
inline constexpr uint8_t kLength64 = 127;

inline constexpr size_t kControlPayloadMax = 125;
inline constexpr size_t kCloseReasonMax = kControlPayloadMax - 2;

constexpr bool IsControl(Opcode opcode) {
  return (static_cast<uint8_t>(opcode) & 0x8) != 0;
}

// True for codes that a Close frame may contain.
bool IsSendableCloseCode(uint16_t code);

// Appends a complete, unmasked frame.
void AppendFrame(std::string& out, Opcode opcode, std::string_view payload);
// Returns a complete, unmasked frame.
std::string MakeFrame(Opcode opcode, std::string_view payload);
// Appends a Close frame. A reason that is too long is cut at a character boundary, and one that is
// not UTF-8 is left out. kNone sends no code.
void AppendCloseFrame(std::string& out, uint16_t code, std::string_view reason);

}  // namespace agent_graph::websocket

// Encodes valid and invalid client frames, and decodes server frames.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "websocket/protocol.h"

namespace agent_graph::websocket {

struct ClientFrame {
  uint8_t opcode = 1;
  std::string payload = {};
  bool final = true;
  uint8_t reserved = 0;  // RSV1..3 as three bits
  bool masked = true;
  uint32_t key = 0x37FA213D;
  // Uses a length field of this many bytes (0, 2 or 8) instead of the shortest, and claims this
  // length.
  std::optional<int> length_bytes = {};
  std::optional<uint64_t> claimed_length = {};
};

inline std::string Encode(const ClientFrame& frame) {
  std::string out;
  out.push_back(static_cast<char>((frame.final ? 0x80 : 0) | frame.reserved << 4 | frame.opcode));
  uint64_t length = frame.claimed_length.value_or(frame.payload.size());
  int extended = frame.length_bytes.value_or(length < 126 ? 0 : length <= 0xFFFF ? 2 : 8);
  uint8_t marker = extended == 0   ? static_cast<uint8_t>(length)
                   : extended == 2 ? uint8_t{126}
                                   : uint8_t{127};
  out.push_back(static_cast<char>((frame.masked ? 0x80 : 0) | marker));
  for (int i = extended - 1; i >= 0; --i) out.push_back(static_cast<char>(length >> 8 * i & 0xFF));
  if (!frame.masked) return out + frame.payload;
  std::string key;
  for (int i = 3; i >= 0; --i) key.push_back(static_cast<char>(frame.key >> 8 * i & 0xFF));
  out += key;
  for (size_t i = 0; i < frame.payload.size(); ++i) {
    out.push_back(static_cast<char>(frame.payload[i] ^ key[i % 4]));
  }
  return out;
}

inline std::string ClosePayload(uint16_t code, std::string_view reason = "") {
  std::string payload{static_cast<char>(code >> 8), static_cast<char>(code & 0xFF)};
  payload += reason;
  return payload;
}

struct ServerFrame {
  uint8_t first_byte = 0;
  std::string payload;
  bool operator==(const ServerFrame&) const = default;
};

// Decodes complete, unmasked server frames with the shortest length form; nullopt for anything
// else.
inline std::optional<std::vector<ServerFrame>> DecodeServerFrames(std::string_view bytes) {
  auto byte = [&bytes](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  std::vector<ServerFrame> frames;
  while (!bytes.empty()) {
    if (bytes.size() < 2) return std::nullopt;
    uint64_t length = byte(1);
    size_t extended = length == 126 ? 2 : length == 127 ? 8 : 0;
    if (length > 127 || bytes.size() < 2 + extended) return std::nullopt;
    if (extended > 0) {
      length = 0;
      for (size_t i = 0; i < extended; ++i) length = length << 8 | byte(2 + i);
      if (length < 126 || (extended == 8 && length <= 0xFFFF)) return std::nullopt;
    }
    if (bytes.size() - 2 - extended < length) return std::nullopt;
    frames.push_back({byte(0), std::string(bytes.substr(2 + extended, length))});
    bytes.remove_prefix(2 + extended + length);
  }
  return frames;
}

}  // namespace agent_graph::websocket

#include "websocket/mask.h"

#include <cstring>

namespace agent_graph::websocket {

void Unmask(std::span<char> bytes, const MaskingKey& key, uint64_t offset) {
  // The key twice, rotated to the offset of the piece: every 8-byte word is then masked with the
  // same bytes.
  std::array<uint8_t, sizeof(uint64_t)> turned;
  for (size_t i = 0; i < turned.size(); ++i) turned[i] = key[(offset + i) % key.size()];
  uint64_t word_key;
  std::memcpy(&word_key, turned.data(), sizeof(word_key));

  size_t i = 0;
  for (; i + sizeof(word_key) <= bytes.size(); i += sizeof(word_key)) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, sizeof(word));
    word ^= word_key;
    std::memcpy(bytes.data() + i, &word, sizeof(word));
  }
  for (; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(static_cast<uint8_t>(bytes[i]) ^ turned[i % turned.size()]);
  }
}

}  // namespace agent_graph::websocket

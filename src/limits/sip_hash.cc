#include "limits/sip_hash.h"

#include <bit>
#include <cstring>

namespace agent_graph::limits {
namespace {

static_assert(std::endian::native == std::endian::little);

struct SipState {
  uint64_t v0, v1, v2, v3;

  void Rounds(int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  }
  void Absorb(uint64_t word) {
    v3 ^= word;
    Rounds(2);
    v0 ^= word;
  }
  uint64_t Squeeze() {
    Rounds(4);
    return v0 ^ v1 ^ v2 ^ v3;
  }
};

}  // namespace

Hash128 SipHash128(const HashKey& key, std::string_view text) {
  SipState state{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d ^ 0xee,
                 key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573};
  const uint64_t length = text.size();
  for (; text.size() >= 8; text.remove_prefix(8)) {
    uint64_t word;
    std::memcpy(&word, text.data(), 8);
    state.Absorb(word);
  }
  uint64_t last = length << 56;
  std::memcpy(&last, text.data(), text.size());
  state.Absorb(last);
  state.v2 ^= 0xee;
  Hash128 hash;
  hash[0] = state.Squeeze();
  state.v1 ^= 0xdd;
  hash[1] = state.Squeeze();
  return hash;
}

}  // namespace agent_graph::limits

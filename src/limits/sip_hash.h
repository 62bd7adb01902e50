// SipHash-2-4 with 128 bits of output: a keyed hash. A client without the key cannot compute
// collisions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace agent_graph::limits {

using HashKey = std::array<uint64_t, 2>;
using Hash128 = std::array<uint64_t, 2>;

Hash128 SipHash128(const HashKey& key, std::string_view text);

}  // namespace agent_graph::limits

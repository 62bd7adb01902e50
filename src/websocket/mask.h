// Unmasks client frames.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace agent_graph::websocket {

using MaskingKey = std::array<uint8_t, 4>;

// Unmasks a piece of a payload in place. `offset` is its position in the payload, in bytes.
void Unmask(std::span<char> bytes, const MaskingKey& key, uint64_t offset);

}  // namespace agent_graph::websocket

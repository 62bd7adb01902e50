// CRC-32C (Castagnoli), the checksum of LevelDB's files.
#pragma once

#include <cstdint>
#include <string_view>

namespace agent_graph {

// The checksum of `bytes`. With `crc`, the checksum of earlier bytes: that of both, joined.
uint32_t Crc32c(std::string_view bytes, uint32_t crc = 0);

}  // namespace agent_graph

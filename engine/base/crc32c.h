// CRC-32C (Castagnoli), the checksum of LevelDB's files.
#pragma once

#include <cstdint>
#include <string_view>

namespace agent_graph {

// Returns the checksum of `bytes`. If `crc` is the checksum of earlier bytes, returns the checksum
// of those and `bytes` together.
uint32_t Crc32c(std::string_view bytes, uint32_t crc = 0);

}  // namespace agent_graph

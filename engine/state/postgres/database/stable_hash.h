// A hash that all hosts and all builds compute alike, because the database's rows and locks depend
// on it. It never changes.
#pragma once

#include <cstdint>
#include <string_view>

namespace agent_graph::state::postgres {

// FNV-1a, 64 bits.
constexpr uint64_t StableHash(std::string_view bytes) {
  uint64_t hash = 14695981039346656037u;
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 1099511628211u;
  return hash;
}

}  // namespace agent_graph::state::postgres

// Random identifiers. They come from the kernel's random source, buffered per thread. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace agent_graph {

std::string NewUuid();   // random UUID version 4, lower case with dashes
std::string NewHexId();  // 32 lower-case hex digits (16 random bytes)
uint64_t RandomUint64();

}  // namespace agent_graph

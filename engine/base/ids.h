// Random identifiers. They come from the kernel's random source, buffered per thread. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace agent_graph {

std::string NewUuid();  // random UUID version 4, lower case with dashes
// Begins with the time in milliseconds, as a UUID of version 7 (RFC 9562), and has 74 random bits.
// A database writes rows with such ids beside each other, which takes a fraction of the work of
// writing them all over a table. It says that it is of version 4, because clients may expect that.
std::string NewOrderedUuid();
std::string NewHexId();  // 32 lower-case hex digits (16 random bytes)
uint64_t RandomUint64();

}  // namespace agent_graph

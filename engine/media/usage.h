// Counts the bytes of all files in a directory, for all processes that write there. Stored files,
// with their records and texts, are in a counter file; uploads in progress are measured.
//
// All calls block. kUnavailable: another process holds the counter file for seconds, because it
// counts all files.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace agent_graph::media {

// The space that a file of `size` bytes occupies on disk or in memory.
uint64_t RoomOf(uint64_t size);

// Adds `bytes` to the counter file `usage` in `root`. kResourceExhausted if that would exceed
// `bytes_max`. If the counter file is missing, first counts the existing files.
Status Reserve(int root, uint64_t bytes, uint64_t bytes_max);
// Subtracts the bytes that were reserved for a file that could not be stored.
void Release(int root, uint64_t bytes);

// kResourceExhausted if stored files, uploads in progress in `temporary` and `bytes` more would
// together exceed `bytes_max`.
Status CheckRoom(int root, int temporary, uint64_t bytes, uint64_t bytes_max);

}  // namespace agent_graph::media

// How many bytes all files of a directory take, agreed on by all processes that write there: what
// is kept, records and texts included, in a counter; what is being received, by looking.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace agent_graph::media {

// What a file of `size` bytes takes of a disk, or of memory.
uint64_t RoomOf(uint64_t size);

// Adds `bytes` to the count in the file `usage` of `root`, unless that would exceed `bytes_max`:
// then kResourceExhausted. Without such a file counts what is there first. Blocks.
Status Reserve(int root, uint64_t bytes, uint64_t bytes_max);
// Takes back what was reserved for a file that could not be kept.
void Release(int root, uint64_t bytes);

// Whether `bytes` more may be received into `temporary` as far as all that is kept and all that is
// being received leave room: else kResourceExhausted. Blocks.
Status CheckRoom(int root, int temporary, uint64_t bytes, uint64_t bytes_max);

}  // namespace agent_graph::media

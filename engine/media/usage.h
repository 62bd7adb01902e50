// How many bytes all files of a directory have, agreed on by all processes that write there.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace agent_graph::media {

// Adds `bytes` to the count in the file `usage` of `root`, unless that would exceed `bytes_max`:
// then kResourceExhausted. Without such a file counts what is there first. Blocks.
Status Reserve(int root, uint64_t bytes, uint64_t bytes_max);
// Takes back what was reserved for a file that could not be kept.
void Release(int root, uint64_t bytes);

}  // namespace agent_graph::media

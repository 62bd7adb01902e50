// Keeps copies from filling a disk that running services write to.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace agent_graph {

// Call before `bytes` more are copied to this folder. kResourceExhausted: the disk would then have
// less free space than copies must leave.
Status CheckDiskRoom(const std::string& folder, uint64_t bytes);

}  // namespace agent_graph

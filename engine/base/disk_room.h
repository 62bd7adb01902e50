// Keeps copies from filling a disk that running services write to.
#pragma once

#include <string>

#include "base/status.h"

namespace agent_graph {

// kResourceExhausted if the disk of this folder has less free space than copies must leave.
Status CheckDiskRoom(const std::string& folder);

}  // namespace agent_graph

// Room that copies leave on a disk for those who write there all the time.
#pragma once

#include <string>

#include "base/status.h"

namespace agent_graph {

// kResourceExhausted where the disk of this folder has less room than copies must leave.
Status CheckDiskRoom(const std::string& folder);

}  // namespace agent_graph

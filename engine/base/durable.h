// What is to be there after a power cut.
#pragma once

#include <string>

#include "base/status.h"

namespace agent_graph {

// Brings a file's bytes, or the names in a folder, to the disk.
Status SyncPath(const std::string& path);

}  // namespace agent_graph

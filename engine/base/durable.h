// Makes files survive a power failure.
#pragma once

#include <string>

#include "base/status.h"

namespace agent_graph {

// Writes a file's bytes, or the entries of a folder, to the disk (fsync). Blocks.
Status SyncPath(const std::string& path);

}  // namespace agent_graph

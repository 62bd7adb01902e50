// Repair of a LevelDB database whose files are damaged. It blocks.
#pragma once

#include <string>

#include "base/status.h"

namespace agent_graph::state {

// Repairs a closed database: keeps what LevelDB can read and corrects, from the other rows, every
// fault that Verify would report. Unreadable data is lost; LevelDB keeps the damaged files
// under lost/.
Status Repair(const std::string& database_directory);

}  // namespace agent_graph::state

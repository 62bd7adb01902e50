// Error messages for errno values.
#pragma once

#include <string>

namespace agent_graph {

// Thread-safe, always in English.
std::string ErrnoText(int error);

}  // namespace agent_graph

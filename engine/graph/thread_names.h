// Functions of the user's that name threads, loaded from a shared object.
#pragma once

#include <string>

#include "agent_graph/thread_name.h"
#include "base/status.h"

namespace agent_graph::graph {

// Loads `path` for good. A failure is kGraph, one line that begins with the path.
Result<const ThreadNamesDescriptor*> LoadThreadNames(const std::string& path,
                                                     const std::string& attribute);

}  // namespace agent_graph::graph

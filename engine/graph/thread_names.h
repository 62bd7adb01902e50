// Loads user functions that name threads, from a shared object.
#pragma once

#include <string>

#include "agent_graph/thread_name.h"
#include "base/sealed_copy.h"
#include "base/status.h"

namespace agent_graph::graph {

// Loads `path` permanently, or `copy` if given (see LoadGraph). A failure is kGraph: one line that
// begins with the path.
Result<const ThreadNamesDescriptor*> LoadThreadNames(const std::string& path,
                                                     const std::string& attribute,
                                                     const SealedCopy& copy);

}  // namespace agent_graph::graph

// `agent: "<module>:<attribute>"` → a compiled graph.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "graph/compiled_graph.h"

namespace agent_graph::graph {

inline constexpr int kNoFile = -1;

// `module` ends in .so (the C++ form) or .json (the declarative form). When `fd` is given the file
// is read from it (through /proc/self/fd), whatever stands at the path now: a worker runs the graph
// that was validated. Every failure is one line that begins with the module's path. A shared object
// is never closed again. Runs user code; call it in workers and in the validation child only.
Result<std::shared_ptr<const CompiledGraph>> LoadGraph(const std::string& module,
                                                       const std::string& attribute,
                                                       int fd = kNoFile);

}  // namespace agent_graph::graph

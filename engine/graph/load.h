// Loads a graph: `agent: "<module>:<attribute>"` → CompiledGraph.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/sealed_copy.h"
#include "base/status.h"
#include "graph/compiled_graph.h"

namespace agent_graph::graph {

// Maximum size of a file that may be loaded as `module`.
int64_t ModuleBytesMax(std::string_view module);

// `module` ends in .so (C++) or .json (declarative). If `copy` is given, it is loaded and the path
// is only used in messages, so that a worker runs exactly the bytes that were validated. A failure
// is one line that begins with the path of the module. A shared object is never closed. Runs user
// code: call it only in workers and in the validation child.
Result<std::shared_ptr<const CompiledGraph>> LoadGraph(const std::string& module,
                                                       const std::string& attribute,
                                                       const SealedCopy& copy = nullptr);

}  // namespace agent_graph::graph

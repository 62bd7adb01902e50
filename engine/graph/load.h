// `agent: "<module>:<attribute>"` → a compiled graph.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/sealed_copy.h"
#include "base/status.h"
#include "graph/compiled_graph.h"

namespace agent_graph::graph {

// The largest file that is loaded as `module`.
int64_t ModuleBytesMax(std::string_view module);

// `module` ends in .so (the C++ form) or .json (the declarative form). When `copy` is given, it is
// loaded and the path only names it in messages: a worker runs what was validated. Every failure is
// one line that begins with the module's path. A shared object is never closed again. Runs user
// code; call it in workers and in the validation child only.
Result<std::shared_ptr<const CompiledGraph>> LoadGraph(const std::string& module,
                                                       const std::string& attribute,
                                                       const SealedCopy& copy = nullptr);

}  // namespace agent_graph::graph

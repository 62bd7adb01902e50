// Execution: the kind of thread that runs a function of yours.
#pragma once

#include <cstdint>

namespace agent_graph {

enum class Execution : uint8_t {
  // On a thread of the user pool. The function may block (files, databases, computation). Default.
  kBlocking,
  // On the engine thread, inside its event loop: the cheapest kind, for functions that compute for
  // a few microseconds. If the function waits other than through RunContext or ToolContext, every
  // run on that engine thread stops until it returns.
  kNonBlocking,
};

}  // namespace agent_graph

// Where a function of yours runs.
#pragma once

#include <cstdint>

namespace agent_graph {

enum class Execution : uint8_t {
  // On a thread of the user pool: it may block (files, databases, computation). The default.
  kBlocking,
  // On the engine thread, between two events of its loop: cheapest, for functions that only
  // compute for microseconds. Anything that waits, other than through RunContext or ToolContext,
  // stops every run of that engine thread.
  kNonBlocking,
};

}  // namespace agent_graph

// Yield: lets other fibers run between two pieces of work.
#pragma once

namespace agent_graph::runtime {

// Lets the other ready fibers of the engine thread run, and serves its sockets and timers, before
// the calling fiber continues. For a fiber whose input never ends. No effect on other threads.
void Yield();

}  // namespace agent_graph::runtime

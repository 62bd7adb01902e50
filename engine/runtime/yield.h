// Giving way between two pieces of work.
#pragma once

namespace agent_graph::runtime {

// Lets the other fibers of the engine thread run that can, and its sockets and timers be looked at,
// before the calling fiber goes on. For a fiber whose work others feed without end. Does nothing on
// any other thread.
void Yield();

}  // namespace agent_graph::runtime

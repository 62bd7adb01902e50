// Gives the memory of a fiber's deep calls back to the system while the fiber waits.
#pragma once

namespace agent_graph::runtime {

// Returns the pages of the calling fiber's stack that lie below the caller's frame: earlier calls
// have touched them, and a fiber otherwise keeps them until it ends. For a place where very many
// fibers wait for long. Costs a system call, and a page fault for each page that is used again.
// No effect on threads without a fiber.
void ReleaseUnusedStack();

}  // namespace agent_graph::runtime

// Settings of the C library's allocator for a process whose memory comes and goes in bursts.
#pragma once

namespace agent_graph {

// Once, before threads are started. Large blocks get memory of their own, which returns to the
// system when they are freed; without this the allocator raises that size to 32 MiB by itself and
// keeps the peak of each burst in its arenas.
void ReturnLargeBlocks();

// Returns what lies free between smaller blocks, if that is much. Takes the lock of each arena
// while it walks it, up to some ten milliseconds after a large burst: not for the event loop.
void ReturnFreeMemory();

}  // namespace agent_graph

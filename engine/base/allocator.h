// Settings of the C library's allocator for a process whose memory comes and goes in bursts.
#pragma once

#include <list>

namespace agent_graph {

// Call once, before threads are started. Large blocks are then mapped separately, so that their
// memory returns to the system when they are freed. Without this call the allocator raises the size
// of mapped blocks up to 32 MiB by itself, and keeps the peak of each burst in its arenas.
void ReturnLargeBlocks();

// Returns free memory between and behind smaller blocks to the system, if there is much. Takes the
// lock of each arena while it walks it, up to some ten milliseconds after a large burst: not for
// the event loop.
void ReturnFreeMemory();

// Lets ReturnFreeMemory return the free end of the calling thread's arena: each thread that
// allocates much holds one. The end of an arena other than the first one returns to the system only
// when a large block is freed in it, and a thread that is idle frees none.
class ArenaHandle {
 public:
  ArenaHandle();
  ~ArenaHandle();
  ArenaHandle(const ArenaHandle&) = delete;
  ArenaHandle& operator=(const ArenaHandle&) = delete;

 private:
  const std::list<void*>::iterator block_;
};

}  // namespace agent_graph

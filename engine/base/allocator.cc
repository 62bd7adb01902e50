#include "base/allocator.h"

#include <malloc.h>

#include <cstddef>
#include <cstdlib>

#include "base/mutex.h"

namespace agent_graph {
namespace {

// Blocks from this size on are mapped: using such a block costs more than mapping it.
constexpr int kMappedBytesMin = 256 * 1024;
// Free memory at the end of an arena that is kept for the next allocation.
constexpr int kKeptBytesMax = 1024 * 1024;
// Free memory in all arenas together up to which they are not trimmed, which walks through them.
constexpr size_t kKeptFreeBytesMax = 4 * 1024 * 1024;
// When the allocator frees 64 KiB at once (FASTBIN_CONSOLIDATION_THRESHOLD in glibc's malloc.c), it
// returns the end of the arena. The system gives a handle no memory for them, because they are
// never written.
constexpr size_t kHandleBytes = size_t{68} * 1024;
constexpr size_t kShrunkBytes = 64;

// The blocks of the handles of all threads.
struct Handles {
  Mutex mutex;
  std::list<void*> blocks AG_GUARDED_BY(mutex);
};

Handles& AllHandles() {
  static auto* const handles = new Handles;  // threads can outlive static objects
  return *handles;
}

std::list<void*>::iterator AddBlock() {
  Handles& handles = AllHandles();
  MutexLock lock(handles.mutex);
  return handles.blocks.insert(handles.blocks.end(), std::malloc(kHandleBytes));
}

void RemoveBlock(std::list<void*>::iterator block) {
  Handles& handles = AllHandles();
  MutexLock lock(handles.mutex);
  std::free(*block);
  handles.blocks.erase(block);
}

// A block stays in the arena of the thread that allocated it, whichever thread changes its size.
void ReturnEnds() {
  Handles& handles = AllHandles();
  MutexLock lock(handles.mutex);
  for (void*& block : handles.blocks) {
    for (const size_t bytes : {kShrunkBytes, kHandleBytes}) {
      void* const resized = std::realloc(block, bytes);
      if (resized != nullptr) block = resized;
    }
  }
}

}  // namespace

void ReturnLargeBlocks() {
  mallopt(M_MMAP_THRESHOLD, kMappedBytesMin);  // NOLINT: no other threads yet
  mallopt(M_TRIM_THRESHOLD, kKeptBytesMax);    // NOLINT: no other threads yet
}

void ReturnFreeMemory() {
  if (mallinfo2().fordblks <= kKeptFreeBytesMax) return;
  malloc_trim(0);  // for arenas other than the first one, without the end
  ReturnEnds();
}

ArenaHandle::ArenaHandle() : block_(AddBlock()) {}

ArenaHandle::~ArenaHandle() {
  RemoveBlock(block_);
}

}  // namespace agent_graph

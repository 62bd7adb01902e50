#include "base/allocator.h"

#include <malloc.h>

#include <cstddef>

namespace agent_graph {
namespace {

// Mapping and faulting in such a block costs less than what is done with it.
constexpr int kMappedBytesMin = 256 * 1024;
// Free memory at the end of an arena that is kept for the next allocation.
constexpr int kKeptBytesMax = 1024 * 1024;
// Free blocks of all arenas together that are not worth a walk.
constexpr size_t kKeptFreeBytesMax = 4 * 1024 * 1024;

}  // namespace

void ReturnLargeBlocks() {
  mallopt(M_MMAP_THRESHOLD, kMappedBytesMin);
  mallopt(M_TRIM_THRESHOLD, kKeptBytesMax);
}

void ReturnFreeMemory() {
  if (mallinfo2().fordblks > kKeptFreeBytesMax) malloc_trim(0);
}

}  // namespace agent_graph

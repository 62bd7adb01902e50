#include "base/allocator.h"

#include <malloc.h>

#include <cstddef>

namespace agent_graph {
namespace {

// Blocks from this size on are mapped: using such a block costs more than mapping it.
constexpr int kMappedBytesMin = 256 * 1024;
// Free memory at the end of an arena that is kept for the next allocation.
constexpr int kKeptBytesMax = 1024 * 1024;
// Free memory in all arenas together up to which they are not trimmed, which walks through them.
constexpr size_t kKeptFreeBytesMax = 4 * 1024 * 1024;

}  // namespace

void ReturnLargeBlocks() {
  mallopt(M_MMAP_THRESHOLD, kMappedBytesMin);  // NOLINT: no other threads yet
  mallopt(M_TRIM_THRESHOLD, kKeptBytesMax);    // NOLINT: no other threads yet
  // Without fast bins each freed block merges with its neighbours at once, and the free end of an
  // arena is trimmed then. Blocks in fast bins would merge only in malloc_trim, which leaves the
  // end of each arena but the first one as it is.
  mallopt(M_MXFAST, 0);  // NOLINT: no other threads yet
}

void ReturnFreeMemory() {
  if (mallinfo2().fordblks > kKeptFreeBytesMax) malloc_trim(0);
}

}  // namespace agent_graph

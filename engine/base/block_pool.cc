#include "base/block_pool.h"

#include <sys/mman.h>

#include <new>

namespace agent_graph {
namespace {

constexpr size_t kBlocksPerSlab = 64;
constexpr size_t kSlabBytes = kBlocksPerSlab * BlockPool::kBlockBytes;

char* TakeLast(std::vector<char*>& blocks) {
  char* const block = blocks.back();
  blocks.pop_back();
  return block;
}

}  // namespace

BlockPool::~BlockPool() {
  for (char* slab : slabs_) munmap(slab, kSlabBytes);
}

char* BlockPool::Take() {
  if (spare_.empty() && returned_.empty()) Reserve();
  ++used_;
  return TakeLast(spare_.empty() ? returned_ : spare_);
}

void BlockPool::Give(char* block) noexcept {
  --used_;
  // Both lists have capacity for every block of the pool: nothing here allocates.
  if (spare_.size() < kSpareBlocksMax) {
    spare_.push_back(block);
    return;
  }
  // If it fails, the block keeps its memory and remains usable.
  (void)madvise(block, kBlockBytes, MADV_DONTNEED);
  returned_.push_back(block);
}

void BlockPool::Reserve() {
  const size_t blocks = (slabs_.size() + 1) * kBlocksPerSlab;
  slabs_.reserve(slabs_.size() + 1);
  spare_.reserve(kSpareBlocksMax);
  // Doubles the capacity, like push_back does.
  if (returned_.capacity() < blocks) returned_.reserve(2 * blocks);
  void* const slab =
      mmap(nullptr, kSlabBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (slab == MAP_FAILED) throw std::bad_alloc();
  // Otherwise one used block could keep a huge page of two megabytes.
  (void)madvise(slab, kSlabBytes, MADV_NOHUGEPAGE);
  slabs_.push_back(static_cast<char*>(slab));
  for (size_t i = kBlocksPerSlab; i > 0; --i) {
    returned_.push_back(slabs_.back() + (i - 1) * kBlockBytes);
  }
}

}  // namespace agent_graph

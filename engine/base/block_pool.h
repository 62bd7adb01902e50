// A pool of memory blocks of one size, for large amounts of buffered bytes.
//
// The general allocator keeps free memory that lies between blocks in use, so the process keeps the
// peak of a burst. This pool returns each free block beyond a few spare ones to the system at once;
// only its address range stays reserved.
#pragma once

#include <cstddef>
#include <vector>

namespace agent_graph {

// For one thread. All blocks must be given back before the pool is destroyed.
class BlockPool {
 public:
  static constexpr size_t kBlockBytes = 16 * 1024;
  static constexpr size_t kSpareBlocksMax = 64;

  BlockPool() = default;
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // kBlockBytes of uninitialised memory. Throws std::bad_alloc.
  char* Take();
  // Returns a block to the pool.
  void Give(char* block) noexcept;

  size_t used() const { return used_; }
  // Number of free blocks that still occupy memory.
  size_t spare() const { return spare_.size(); }

 private:
  void Reserve();

  std::vector<char*> slabs_;
  std::vector<char*> spare_;
  std::vector<char*> returned_;  // free, without memory behind them
  size_t used_ = 0;
};

}  // namespace agent_graph

// Memory in blocks of one size, for bytes that wait in large numbers for a while.
//
// The general allocator keeps what is freed between blocks that are still in use, and the peak of a
// burst stays in the process. Here each free block beyond a few spare ones is returned to the
// system at once; only its address range stays reserved.
#pragma once

#include <cstddef>
#include <vector>

namespace agent_graph {

// For one thread. Every block must have been given back before the pool is destroyed.
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
  void Give(char* block) noexcept;

  size_t used() const { return used_; }
  // Free blocks that still occupy memory.
  size_t spare() const { return spare_.size(); }

 private:
  void Reserve();

  std::vector<char*> slabs_;
  std::vector<char*> spare_;
  std::vector<char*> returned_;  // free, without memory behind them
  size_t used_ = 0;
};

}  // namespace agent_graph

#include "base/allocator.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "base/free_memory.h"

namespace agent_graph {
namespace {

constexpr size_t kMiB = size_t{1024} * 1024;

// Memory of this process without pages of files.
size_t PrivateBytes() {
  size_t total = 0;
  size_t resident = 0;
  size_t of_files = 0;
  std::ifstream("/proc/self/statm") >> total >> resident >> of_files;
  return (resident - of_files) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

std::vector<std::unique_ptr<char[]>> SmallBlocks(size_t bytes) {
  constexpr size_t kBlock = 64;
  std::vector<std::unique_ptr<char[]>> blocks(bytes / kBlock);
  for (std::unique_ptr<char[]>& block : blocks) {
    block = std::make_unique_for_overwrite<char[]>(kBlock);
    std::memset(block.get(), 1, kBlock);
  }
  return blocks;
}

// A large reply is parsed on a thread of the I/O pool, and freed on another thread.
TEST(Allocator, ReturnsSmallBlocksOfThreadsThatAreIdle) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's allocator is not ours";
#endif
  ReturnLargeBlocks();
  const size_t before = PrivateBytes();
  std::vector<std::unique_ptr<char[]>> blocks;
  std::latch allocated(1);
  std::latch measured(1);
  std::thread idle([&] {
    const ArenaHandle handle;
    blocks = SmallBlocks(32 * kMiB);
    allocated.count_down();
    measured.wait();
  });
  allocated.wait();
  EXPECT_GT(PrivateBytes(), before + 32 * kMiB);
  FreeMemory(blocks);
  ReturnFreeMemory();
  EXPECT_LT(PrivateBytes(), before + 4 * kMiB);
  measured.count_down();
  idle.join();
}

}  // namespace
}  // namespace agent_graph

#include "base/block_pool.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <vector>

namespace agent_graph {
namespace {

constexpr size_t kMany = 200;  // more than one slab holds

std::vector<char*> TakeMany(BlockPool& pool) {
  std::vector<char*> blocks;
  for (size_t i = 0; i < kMany; ++i) blocks.push_back(pool.Take());
  return blocks;
}

// Number of the block's pages that are resident.
size_t PagesInMemory(char* block) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages(BlockPool::kBlockBytes / page);
  EXPECT_EQ(mincore(block, BlockPool::kBlockBytes, pages.data()), 0);
  size_t count = 0;
  for (unsigned char flags : pages) count += flags & 1;
  return count;
}

TEST(BlockPool, GivesEachBlockToOneUser) {
  BlockPool pool;
  const std::vector<char*> blocks = TakeMany(pool);
  EXPECT_EQ(std::set<char*>(blocks.begin(), blocks.end()).size(), kMany);
  EXPECT_EQ(pool.used(), kMany);
  for (size_t i = 0; i < kMany; ++i) {
    memset(blocks[i], static_cast<int>(i), BlockPool::kBlockBytes);
  }
  for (size_t i = 0; i < kMany; ++i) {
    EXPECT_EQ(static_cast<unsigned char>(blocks[i][0]), i);
    EXPECT_EQ(static_cast<unsigned char>(blocks[i][BlockPool::kBlockBytes - 1]), i);
    pool.Give(blocks[i]);
  }
  EXPECT_EQ(pool.used(), 0u);
}

TEST(BlockPool, ReturnsTheMemoryOfABurst) {
  BlockPool pool;
  const std::vector<char*> blocks = TakeMany(pool);
  for (char* block : blocks) memset(block, 1, BlockPool::kBlockBytes);
  for (char* block : blocks) pool.Give(block);
  EXPECT_EQ(pool.spare(), BlockPool::kSpareBlocksMax);
  size_t occupied = 0;
  for (char* block : blocks) occupied += PagesInMemory(block) > 0;
  EXPECT_EQ(occupied, BlockPool::kSpareBlocksMax);
}

TEST(BlockPool, UsesReturnedBlocksAgain) {
  BlockPool pool;
  std::vector<char*> before = TakeMany(pool);
  const std::set<char*> known(before.begin(), before.end());
  for (char* block : before) pool.Give(block);
  for (char* block : TakeMany(pool)) {
    EXPECT_TRUE(known.contains(block));
    memset(block, 7, BlockPool::kBlockBytes);
    pool.Give(block);
  }
}

}  // namespace
}  // namespace agent_graph

#include "limits/permit_blocks.h"

#include <gtest/gtest.h>

#include <chrono>

namespace agent_graph::limits {
namespace {

using std::chrono::seconds;

constexpr Deadline kStart{};

TEST(PermitBlocks, ABlockIsUsedUpAndExpires) {
  PermitBlocks blocks(25'600);
  EXPECT_FALSE(blocks.Take("a", kStart));
  blocks.Add("a", 3, 90, kStart + seconds(1));
  EXPECT_EQ(blocks.Take("a", kStart), 91u);
  EXPECT_FALSE(blocks.Take("b", kStart));
  EXPECT_EQ(blocks.Take("a", kStart), 90u);
  EXPECT_FALSE(blocks.Take("a", kStart));
  blocks.Add("a", 3, 80, kStart + seconds(2));
  EXPECT_FALSE(blocks.Take("a", kStart + seconds(2)));
}

TEST(PermitBlocks, BusyCallersGetLargerBlocks) {
  PermitBlocks blocks(2560);  // blocks of up to ten
  EXPECT_EQ(blocks.Wanted("a"), 1u);
  for (int i = 0; i < 8; ++i) blocks.Add("a", 1, 100, kStart + seconds(1));
  EXPECT_EQ(blocks.Wanted("a"), 2u);
  EXPECT_EQ(blocks.Wanted("b"), 1u);
  // The size for the next sub-window follows from the requests of the last one.
  blocks.Add("a", 2, 100, kStart + seconds(2));
  EXPECT_EQ(blocks.Wanted("a"), 2u);
  blocks.Add("a", 1, 100, kStart + seconds(3));
  EXPECT_EQ(blocks.Wanted("a"), 1u);
  for (int i = 0; i < 1000; ++i) blocks.Add("a", 1, 100, kStart + seconds(4));
  EXPECT_EQ(blocks.Wanted("a"), 10u);
}

TEST(PermitBlocks, PermitsOfAnEarlierSubWindowAreLost) {
  PermitBlocks blocks(25'600);
  blocks.Add("a", 50, 100, kStart + seconds(1));
  blocks.Add("a", 2, 100, kStart + seconds(2));
  EXPECT_TRUE(blocks.Take("a", kStart + seconds(1)));
  EXPECT_FALSE(blocks.Take("a", kStart + seconds(1)));
}

}  // namespace
}  // namespace agent_graph::limits

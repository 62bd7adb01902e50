#include "limits/token_table.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace agent_graph::limits {
namespace {

constexpr HashKey kSeed = {1, 2};

// A table in memory that child processes share.
class TokenTableTest : public testing::Test {
 protected:
  TokenTableTest() {
    options_.tokens = 100;
    bytes_ = TokenTable::BytesOf(TokenTable::kUsersMin);
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_TRUE(TokenTable::Format(memory_, bytes_, options_, kSeed));
  }
  ~TokenTableTest() override { munmap(memory_, bytes_); }

  TokenLimitOptions options_;
  size_t bytes_ = 0;
  void* memory_ = nullptr;
};

TEST_F(TokenTableTest, TokensOfEachUserAreAdded) {
  const TokenTable table(memory_);
  EXPECT_EQ(table.Read("alice").tokens, 0u);
  table.Charge("alice", 30);
  table.Charge("alice", 12);
  table.Charge("bob", 7);
  EXPECT_EQ(table.Read("alice").tokens, 42u);
  EXPECT_EQ(table.Read("bob").tokens, 7u);
  EXPECT_EQ(table.Read("carol").tokens, 0u);
  const uint32_t wait = table.Read("alice").wait_seconds;
  EXPECT_GE(wait, options_.window_seconds);
  EXPECT_LE(wait, options_.window_seconds + options_.window_seconds / 60 + 1);
}

TEST_F(TokenTableTest, AHugeChargeDoesNotOverflow) {
  const TokenTable table(memory_);
  table.Charge("alice", ~uint64_t{0});
  table.Charge("alice", 5);
  EXPECT_EQ(table.Read("alice").tokens, ~uint64_t{0});
}

TEST_F(TokenTableTest, ManyUsersEvictTheOldestOnly) {
  const TokenTable table(memory_);
  for (int i = 0; i < 5000; ++i) table.Charge("user" + std::to_string(i), 1);
  EXPECT_EQ(table.Read("user4999").tokens, 1u);
  int kept = 0;
  for (int i = 0; i < 5000; ++i) kept += table.Read("user" + std::to_string(i)).tokens > 0 ? 1 : 0;
  EXPECT_GT(kept, 200);
  EXPECT_LE(kept, 256);
}

TEST_F(TokenTableTest, ProcessesShareItAndMayDieAtAnyMoment) {
  const TokenTable table(memory_);
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (;;) table.Charge("alice", 1);
    }
    while (table.Read("alice").tokens < static_cast<uint64_t>(round + 1)) {
      ASSERT_EQ(waitpid(child, nullptr, WNOHANG), 0) << "the child has ended by itself";
    }
    ASSERT_EQ(kill(child, SIGKILL), 0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    table.Charge("bob", 1);
  }
  EXPECT_EQ(table.Read("bob").tokens, 20u);
}

TEST_F(TokenTableTest, FitsTheSameWindowOnly) {
  TokenLimitOptions other = options_;
  other.tokens = 5;
  EXPECT_TRUE(TokenTable::Fits(memory_, other)) << "the limit is not part of the table";
  other.window_seconds = 60;
  EXPECT_FALSE(TokenTable::Fits(memory_, other));
}

}  // namespace
}  // namespace agent_graph::limits

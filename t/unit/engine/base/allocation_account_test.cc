#include "base/allocation_account.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace agent_graph {
namespace {

constexpr size_t kMiB = 1024 * 1024;

TEST(AllocationAccount, AdmitsToItsBoundWhatIsHeldAtOnce) {
  AllocationAccount account(10 * kMiB);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(account.Admit(6 * kMiB));
    account.Add(6 * kMiB);
    account.Subtract(6 * kMiB);
  }
  account.Add(6 * kMiB);
  EXPECT_TRUE(account.Admit(4 * kMiB));
  EXPECT_FALSE(account.refused());
  EXPECT_FALSE(account.Admit(4 * kMiB + 1));
  EXPECT_TRUE(account.refused());
}

TEST(AllocationAccount, RefusesTheLargestOfAllSizes) {
  AllocationAccount account(10 * kMiB);
  account.Subtract(kMiB);
  EXPECT_FALSE(account.Admit(SIZE_MAX));
}

TEST(AllocationAccount, HasAReserveAfterTheFirstRefusal) {
  for (const size_t bound : {10 * kMiB, 1024 * kMiB}) {
    const size_t reserve = bound < 64 * kMiB ? 16 * kMiB : bound / 4;
    AllocationAccount account(bound);
    account.Add(bound);
    EXPECT_FALSE(account.Admit(1));
    EXPECT_TRUE(account.Admit(reserve));
    account.Add(reserve);
    EXPECT_FALSE(account.Admit(1));
  }
}

TEST(AllocationAccount, WhatIsToleratedCounts) {
  AllocationScope scope(10 * kMiB);
  AllocationAccount& account = *AllocationAccount::Current();
  {
    const TolerateAllocations tolerated;
    EXPECT_TRUE(account.Admit(20 * kMiB));
    account.Add(20 * kMiB);
  }
  EXPECT_FALSE(account.refused());
  EXPECT_FALSE(account.Admit(1));
  account.Subtract(20 * kMiB);
}

TEST(AllocationScope, Nests) {
  ASSERT_EQ(AllocationAccount::Current(), nullptr);
  {
    AllocationScope outer(10 * kMiB);
    AllocationAccount::Current()->Add(8 * kMiB);
    {
      AllocationScope inner;
      EXPECT_EQ(inner.account().bytes_max(), 10 * kMiB);
      EXPECT_TRUE(AllocationAccount::Current()->Admit(9 * kMiB));
      AllocationAccount::Current()->Add(3 * kMiB);
      EXPECT_EQ(outer.account().held(), static_cast<int64_t>(8 * kMiB));
    }
    EXPECT_EQ(AllocationAccount::Current(), &outer.account());
    EXPECT_EQ(outer.account().held(), static_cast<int64_t>(11 * kMiB));
    {
      AllocationScope inner(kMiB);
      AllocationAccount::Current()->Subtract(5 * kMiB);
    }
    EXPECT_EQ(outer.account().held(), static_cast<int64_t>(6 * kMiB));
  }
  EXPECT_EQ(AllocationAccount::Current(), nullptr);
}

UserFailure FailureOf(void (*function)()) {
  try {
    function();
  } catch (...) {
    return CaughtUserFailure();
  }
  return {};
}

TEST(CaughtUserFailure, NamesTheKeyOnlyWhenTheBoundWasMet) {
  AllocationScope scope(kMiB);
  EXPECT_FALSE(FailureOf([] { throw std::bad_alloc(); }).ours);
  EXPECT_FALSE(AllocationAccount::Current()->Admit(2 * kMiB));
  const UserFailure refused = FailureOf([] { throw std::bad_alloc(); });
  EXPECT_TRUE(refused.ours);
  EXPECT_EQ(refused.text, "it would hold more than 1048576 bytes (limits.function_bytes_max)");
  const UserFailure other = FailureOf([] { throw std::runtime_error("boom"); });
  EXPECT_FALSE(other.ours);
  EXPECT_EQ(other.text, "boom");
  EXPECT_EQ(FailureOf([] { throw 42; }).text, "it threw something that is not a std::exception");
}

}  // namespace
}  // namespace agent_graph

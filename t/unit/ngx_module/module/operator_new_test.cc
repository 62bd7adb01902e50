// Counts of the module's operators new and delete; this test is linked with them.
#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "base/allocation_account.h"

namespace {

using agent_graph::AllocationScope;

constexpr size_t kMiB = 1024 * 1024;

TEST(OperatorNew, IsCounted) {
  EXPECT_TRUE(agent_graph::AllocationsAreCounted());
}

// Called by name, because the compiler may optimize away the allocation of a new expression.
TEST(OperatorNew, CountsEveryFormAndWhatIsFreed) {
  constexpr std::align_val_t kAlignment{256};
  const AllocationScope scope(10 * kMiB);
  void* const plain = ::operator new(kMiB);
  void* const array = ::operator new[](kMiB);
  void* const quiet = ::operator new(kMiB, std::nothrow);
  void* const aligned = ::operator new(kMiB, kAlignment);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned) % 256, 0u);
  const int64_t held = scope.account().held();
  EXPECT_GE(held, static_cast<int64_t>(4 * kMiB));
  EXPECT_LT(held, static_cast<int64_t>(5 * kMiB));
  ::operator delete(plain);
  ::operator delete[](array, kMiB);
  ::operator delete(quiet, std::nothrow);
  ::operator delete(aligned, kAlignment);
  EXPECT_EQ(scope.account().held(), 0);
}

TEST(OperatorNew, CountsWhatTheLibraryAllocates) {
  const AllocationScope scope(10 * kMiB);
  const std::string text(kMiB, 'x');
  EXPECT_GE(scope.account().held(), static_cast<int64_t>(kMiB));
}

TEST(OperatorNew, ThrowsAtTheBoundAndUnwindsWithinTheReserve) {
  const AllocationScope scope(10 * kMiB);
  struct AllocatesAtItsEnd {
    ~AllocatesAtItsEnd() { std::vector<char>(kMiB).back() = 'x'; }
  };
  const auto fill = [] {
    std::vector<std::string> texts;
    AllocatesAtItsEnd last;
    for (;;) texts.emplace_back(1000, 'x');
  };
  EXPECT_THROW(fill(), std::bad_alloc);
  EXPECT_TRUE(scope.account().refused());
  EXPECT_LT(scope.account().held(), static_cast<int64_t>(kMiB));
}

TEST(OperatorNew, RefusesOneHugeBlock) {
  const AllocationScope scope(10 * kMiB);
  EXPECT_THROW(::operator delete(::operator new(size_t{1} << 40)), std::bad_alloc);
  EXPECT_EQ(::operator new(size_t{1} << 40, std::nothrow), nullptr);
  EXPECT_THROW(::operator delete(::operator new(SIZE_MAX, std::align_val_t(64))), std::bad_alloc);
}

}  // namespace

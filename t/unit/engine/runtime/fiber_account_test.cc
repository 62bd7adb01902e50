#include <gtest/gtest.h>

#include "base/allocation_account.h"
#include "runtime/runtime.h"
#include "runtime/yield.h"

namespace agent_graph::runtime {
namespace {

TEST(Suspend, AFiberTakesItsAllocationAccountAlong) {
  Runtime runtime(RuntimeOptions{});
  const AllocationAccount* elsewhere = nullptr;
  bool ran_meanwhile = false;
  const AllocationAccount* mine = nullptr;
  const AllocationAccount* after = nullptr;
  runtime.Spawn([&] {
    const AllocationScope scope(1024 * 1024);
    mine = &scope.account();
    runtime.Spawn(
        [&] {
          elsewhere = AllocationAccount::Current();
          ran_meanwhile = true;
        },
        /*here=*/true);
    while (!ran_meanwhile) Yield();
    after = AllocationAccount::Current();
  });
  ASSERT_TRUE(runtime.Start().ok());
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
  EXPECT_EQ(elsewhere, nullptr);
  EXPECT_EQ(after, mine);
}

}  // namespace
}  // namespace agent_graph::runtime

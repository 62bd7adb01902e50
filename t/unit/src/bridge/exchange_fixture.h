// Exchanges and their outbox for tests, which play the event loop.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "bridge/exchange.h"
#include "runtime/runtime.h"

namespace agent_graph::bridge {

using runtime::Promise;
using runtime::Runtime;
using runtime::RuntimeOptions;

inline std::vector<OutboxItem> Take(Outbox& outbox) {
  std::vector<OutboxItem> items;
  outbox.ClearDoorbell();
  outbox.Swap(items);
  return items;
}

inline std::shared_ptr<Exchange> MakeExchange(Outbox& outbox, CreditLimits credit = {},
                                              ExchangeAddress address = {1, 1}) {
  return std::make_shared<Exchange>(address, RequestHead{}, outbox, credit);
}

// A descriptor and its number; fcntl of the number returns -1 when it is closed.
inline FileDescriptor OpenFile(int& number) {
  number = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  EXPECT_GE(number, 0);
  return FileDescriptor(number);
}

class ExchangeOnAFiber : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(runtime_.Start().ok()); }
  void TearDown() override { EXPECT_TRUE(runtime_.Stop(kNoDeadline).ok()); }

  // Fibers that are ready run before this returns, because fibers run in order.
  void LetFibersRun() {
    const Promise<bool> passed;
    runtime_.Spawn([=] { passed.Set(true); });
    ASSERT_TRUE(passed.Wait(nullptr, kNoDeadline).ok());
  }

  Outbox outbox_;
  Runtime runtime_{RuntimeOptions{}};
};

}  // namespace agent_graph::bridge

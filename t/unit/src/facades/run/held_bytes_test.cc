// HeldBytes: what it counts as memory of an exchange.
#include "facades/run/held_bytes.h"

#include <gtest/gtest.h>

#include "bridge/exchange.h"
#include "bridge/outbox.h"

namespace agent_graph::facades {
namespace {

constexpr uint64_t kMib = 1024 * 1024;

class HeldBytesTest : public testing::Test {
 protected:
  bridge::Outbox outbox_;
  bridge::Exchange exchange_{{1, 1}, bridge::RequestHead{}, outbox_, bridge::CreditLimits{}};
};

TEST_F(HeldBytesTest, AddsToWhatTheExchangeHolds) {
  exchange_.Hold(100);
  HeldBytes held(&exchange_);
  held.Set(kMib);
  EXPECT_EQ(exchange_.held_bytes(), kMib + 100);
  held.Set(3 * kMib);
  EXPECT_EQ(exchange_.held_bytes(), 3 * kMib + 100);
  held.Set(0);
  EXPECT_EQ(exchange_.held_bytes(), 100U);
}

TEST_F(HeldBytesTest, CountsLittleGrowthLater) {
  HeldBytes held(&exchange_);
  held.Set(1000);
  EXPECT_EQ(exchange_.held_bytes(), 0U);
  held.Set(kMib);
  held.Set(kMib + 1000);
  EXPECT_EQ(exchange_.held_bytes(), kMib);
}

TEST_F(HeldBytesTest, CountsNothingWithoutAnExchange) {
  HeldBytes().Set(kMib);
  EXPECT_EQ(outbox_.memory().held(), 0U);
}

}  // namespace
}  // namespace agent_graph::facades

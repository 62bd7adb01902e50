#include "models/circuit.h"

#include <gtest/gtest.h>

namespace agent_graph::models {
namespace {

TEST(Circuit, OpensAfterFailuresInARow) {
  const auto now = MonotonicClock::now();
  Circuit circuit;
  for (uint32_t i = 1; i < Circuit::kFailuresMax; ++i) circuit.Failed(now);
  EXPECT_FALSE(circuit.IsOpen(now));
  circuit.Failed(now);
  EXPECT_TRUE(circuit.IsOpen(now));
  circuit.Answered();
  EXPECT_FALSE(circuit.IsOpen(now));
  circuit.Failed(now);
  EXPECT_FALSE(circuit.IsOpen(now));
}

TEST(Circuit, ClosesSomeTimeAfterTheLastFailure) {
  const auto now = MonotonicClock::now();
  Circuit circuit;
  for (uint32_t i = 0; i < Circuit::kFailuresMax; ++i) circuit.Failed(now);
  EXPECT_TRUE(circuit.IsOpen(now + Circuit::kOpen - std::chrono::seconds(1)));
  EXPECT_FALSE(circuit.IsOpen(now + Circuit::kOpen));
  circuit.Failed(now + Circuit::kOpen);  // the next call has failed as well
  EXPECT_TRUE(circuit.IsOpen(now + Circuit::kOpen));
}

}  // namespace
}  // namespace agent_graph::models

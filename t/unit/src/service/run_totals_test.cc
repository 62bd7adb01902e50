#include "service/run_totals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "../../engine/state/fake_service.h"
#include "runtime/runtime.h"
#include "runtime/signal.h"

namespace agent_graph::service {
namespace {

// A worker that leaves must not wait for a state server.
TEST(RunTotalsWatchTest, EndsWhileTheStateDoesNotAnswer) {
  testing::NiceMock<state::FakeService> state;
  std::promise<void> asked;
  ON_CALL(state, GetRunTotals)
      .WillByDefault([&](const runtime::Cancellation* cancellation) -> Result<state::RunTotals> {
        asked.set_value();
        runtime::Signal never;
        return runtime::WakeStatus(never.Wait(cancellation, kNoDeadline), cancellation);
      });
  runtime::Runtime runtime({});
  ASSERT_TRUE(runtime.Start().ok());
  RunTotalsWatch watch;
  watch.Start(runtime, state);
  asked.get_future().wait();
  watch.Close();
  EXPECT_TRUE(runtime.Stop(DeadlineAfter(std::chrono::seconds(60))).ok());
  EXPECT_EQ(watch.continued(), 0u);
}

}  // namespace
}  // namespace agent_graph::service

// Invariants of waits: one that breaks them ends the process.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "runtime/engine_thread.h"
#include "runtime/signal.h"

namespace agent_graph::runtime {
namespace {

// Lets a thread wait outside of its fibers.
void WaitInTheEventLoop() {
  EngineThread thread({
      .on_start =
          [] {
            Signal signal;
            signal.Wait(nullptr, DeadlineAfter(std::chrono::milliseconds(1)));
          },
      .on_fiber_ended = [] {},
      .on_uncaught = [](const std::string&) {},
  });
  ASSERT_TRUE(thread.Start("test").ok());
  thread.Join();
}

TEST(SignalDeathTest, AHandlerOfTheEventLoopDoesNotWait) {
  EXPECT_DEATH(WaitInTheEventLoop(), "a handler of the event loop does not wait");
}

}  // namespace
}  // namespace agent_graph::runtime

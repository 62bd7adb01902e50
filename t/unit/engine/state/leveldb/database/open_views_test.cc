#include "state/leveldb/database/open_views.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/clock.h"

namespace agent_graph::state {
namespace {

TEST(OpenViewsTest, WaitsForTheViewsThatAreOpen) {
  OpenViews views;
  EXPECT_TRUE(views.AwaitEarlier(kNoDeadline));
  const uint64_t early = views.Add();
  EXPECT_FALSE(views.AwaitEarlier(MonotonicClock::now()));
  bool ended = false;
  std::thread waiting([&] { ended = views.AwaitEarlier(kNoDeadline); });
  views.Remove(early);
  waiting.join();
  EXPECT_TRUE(ended);
}

TEST(OpenViewsTest, StopWaitingEndsTheWaits) {
  OpenViews views;
  views.Add();
  views.StopWaiting();
  EXPECT_FALSE(views.AwaitEarlier(kNoDeadline));
}

}  // namespace
}  // namespace agent_graph::state

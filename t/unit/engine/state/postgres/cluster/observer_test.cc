#include "state/postgres/cluster/observer.h"

#include <gtest/gtest.h>

namespace agent_graph::state::postgres {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ObserverTest : public testing::Test {
 protected:
  ObserverTest() { observer_.StartOver(now_ - Observer::kGrace); }

  // Time passes, then a beat of ours sees that of the other one. True: it is dead.
  bool Beat(milliseconds pause, int64_t other) {
    now_ += pause;
    return !observer_.Observe({{"other", other}}, now_, now_).empty();
  }

  Observer observer_;
  MonotonicClock::time_point now_{std::chrono::hours(1)};
};

TEST_F(ObserverTest, ThreeBeatsOverThreeSecondsWithoutALifeSignAreDeath) {
  EXPECT_FALSE(Beat(seconds(0), 7));
  EXPECT_FALSE(Beat(seconds(1), 7));
  EXPECT_FALSE(Beat(seconds(1), 7));
  EXPECT_TRUE(Beat(seconds(1), 7));
}

TEST_F(ObserverTest, EachLifeSignStartsOver) {
  EXPECT_FALSE(Beat(seconds(0), 7));
  for (int64_t beat = 8; beat < 20; ++beat) {
    EXPECT_FALSE(Beat(seconds(1), beat));
    EXPECT_FALSE(Beat(seconds(1), beat));
    EXPECT_FALSE(Beat(seconds(1), beat));
  }
  EXPECT_TRUE(Beat(seconds(1), 19));
}

TEST_F(ObserverTest, FastBeatsOfOursAreNotEnough) {
  EXPECT_FALSE(Beat(seconds(0), 7));
  for (int i = 0; i < 29; ++i) EXPECT_FALSE(Beat(milliseconds(100), 7));
  EXPECT_TRUE(Beat(milliseconds(100), 7));
}

TEST_F(ObserverTest, OurOwnPauseIsNotTheSilenceOfOthers) {
  EXPECT_FALSE(Beat(seconds(0), 7));
  EXPECT_FALSE(Beat(std::chrono::hours(1), 7));
  EXPECT_FALSE(Beat(seconds(1), 7));
  EXPECT_TRUE(Beat(seconds(1), 7));
}

TEST_F(ObserverTest, NothingIsDecidedDuringTheGracePeriod) {
  EXPECT_FALSE(Beat(seconds(0), 7));
  EXPECT_FALSE(Beat(seconds(1), 7));
  EXPECT_FALSE(Beat(seconds(1), 7));
  observer_.StartOver(now_);
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(Beat(seconds(1), 7));
  EXPECT_TRUE(Beat(seconds(1), 7));
}

TEST_F(ObserverTest, OnlyTheSilentOneIsDead) {
  const auto beat = [&](int64_t living) {
    now_ += seconds(1);
    return observer_.Observe({{"silent", 1}, {"living", living}}, now_, now_);
  };
  EXPECT_TRUE(beat(1).empty());
  EXPECT_TRUE(beat(2).empty());
  EXPECT_TRUE(beat(3).empty());
  const std::vector<PeerBeat> dead = beat(4);
  ASSERT_EQ(dead.size(), 1u);
  EXPECT_EQ(dead[0].id, "silent");
  EXPECT_EQ(dead[0].beat, 1);
}

TEST_F(ObserverTest, ASlowBeatOfOursCountsFromItsEnd) {
  EXPECT_TRUE(observer_.Observe({{"other", 7}}, now_, now_ + seconds(2)).empty());
  now_ += seconds(2);
  EXPECT_FALSE(Beat(seconds(0), 7));
  EXPECT_FALSE(Beat(seconds(1), 7));
  EXPECT_FALSE(Beat(seconds(1), 7));
  EXPECT_TRUE(Beat(seconds(1), 7));
}

}  // namespace
}  // namespace agent_graph::state::postgres

#include "state/postgres/cluster/database_clock.h"

#include <gtest/gtest.h>

#include <chrono>

namespace agent_graph::state::postgres {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

const MonotonicClock::time_point kStart{std::chrono::hours(1)};

TEST(DatabaseClockTest, GoesOnFromTheTimeOfTheServer) {
  DatabaseClock clock;
  clock.Set(5'000'000, kStart, kStart);
  EXPECT_EQ(clock.At(kStart), 5'000'000);
  EXPECT_EQ(clock.At(kStart + seconds(2)), 7'000'000);
}

TEST(DatabaseClockTest, TheFirstReadingIsFromTheMiddleOfItsTime) {
  DatabaseClock clock;
  clock.Set(5'000'000, kStart, kStart + seconds(2));
  EXPECT_EQ(clock.At(kStart + seconds(1)), 5'000'000);
}

TEST(DatabaseClockTest, ASlowReadingChangesNothingThatItDoesNotContradict) {
  DatabaseClock clock;
  clock.Set(5'000'000, kStart, kStart + microseconds(10));
  const int64_t before = clock.At(kStart + seconds(1));
  // The server read its clock at some moment of these three seconds.
  clock.Set(6'000'000, kStart, kStart + seconds(3));
  EXPECT_EQ(clock.At(kStart + seconds(1)), before);
}

TEST(DatabaseClockTest, AnotherServerMaySetItBack) {
  DatabaseClock clock;
  clock.Set(5'000'000, kStart, kStart);
  clock.Set(1'000'000, kStart + seconds(1), kStart + seconds(1));
  EXPECT_EQ(clock.At(kStart + seconds(1)), 1'000'000);
}

}  // namespace
}  // namespace agent_graph::state::postgres

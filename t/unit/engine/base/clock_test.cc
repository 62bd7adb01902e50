#include "base/clock.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "base/seconds.h"

namespace agent_graph {
namespace {

TEST(IsoTimestamp, HasSixDigitsOfASecond) {
  EXPECT_EQ(IsoTimestamp(0), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(IsoTimestamp(1'781'611'200'123'456), "2026-06-16T12:00:00.123456Z");
  EXPECT_EQ(IsoTimestamp(1'781'611'200'000'001), "2026-06-16T12:00:00.000001Z");
  EXPECT_EQ(IsoTimestamp(1'781'611'199'999'999), "2026-06-16T11:59:59.999999Z");
}

TEST(IsoTimestamp, TimesBefore1970HaveTheirDigits) {
  EXPECT_EQ(IsoTimestamp(-1), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(IsoTimestamp(-999'999), "1969-12-31T23:59:59.000001Z");
  EXPECT_EQ(IsoTimestamp(-1'000'000), "1969-12-31T23:59:59.000000Z");
  EXPECT_EQ(IsoTimestamp(-62'135'596'800'000'000), "0001-01-01T00:00:00.000000Z");
}

// Each thread keeps the second that it has formatted last, and has none at first. A time before
// 1970 must not be taken for a second that it has.
TEST(IsoTimestamp, ANewThreadHasNoSecondYet) {
  std::string iso;
  std::string seconds;
  std::thread([&] {
    iso = IsoTimestamp(-1'000'000);
    seconds = SecondsText(-1'000'000).full();
  }).join();
  EXPECT_EQ(iso, "1969-12-31T23:59:59.000000Z");
  EXPECT_EQ(seconds, "-1.000000");
}

}  // namespace
}  // namespace agent_graph

#include "net/retry_after.h"

#include <gtest/gtest.h>

namespace agent_graph::net {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kNow = 1'700'000'000;  // Tue, 14 Nov 2023 22:13:20 GMT

TEST(RetryAfter, Seconds) {
  EXPECT_EQ(ParseRetryAfter("0", kNow), milliseconds(0));
  EXPECT_EQ(ParseRetryAfter("7", kNow), milliseconds(7000));
  EXPECT_EQ(ParseRetryAfter("0.25", kNow), milliseconds(250));
  EXPECT_EQ(ParseRetryAfter("-3", kNow), milliseconds(0));
  EXPECT_GE(ParseRetryAfter("1e300", kNow), milliseconds(1'000'000));
}

TEST(RetryAfter, Date) {
  EXPECT_EQ(ParseRetryAfter("Tue, 14 Nov 2023 22:13:50 GMT", kNow), milliseconds(30'000));
  EXPECT_EQ(ParseRetryAfter("Tue, 14 Nov 2023 22:00:00 GMT", kNow), milliseconds(0));
}

TEST(RetryAfter, Nonsense) {
  for (const char* value : {"", "soon", "nan", "1 minute", ";"}) {
    EXPECT_EQ(ParseRetryAfter(value, kNow), std::nullopt) << value;
  }
}

}  // namespace
}  // namespace agent_graph::net

#include "net/retry.h"

#include <gtest/gtest.h>

#include <limits>

namespace agent_graph::net {
namespace {

constexpr uint64_t kRandomMax = std::numeric_limits<uint64_t>::max();

TEST(Retry, OnlyTransientErrors) {
  for (int status : {408, 429, 500, 502, 503, 504, 529}) EXPECT_TRUE(IsRetryable(status)) << status;
  for (int status : {200, 301, 400, 401, 403, 404, 422})
    EXPECT_FALSE(IsRetryable(status)) << status;
}

TEST(Retry, DelayDoublesUpToItsMaximum) {
  auto before = kRetryDelayFirst / 2;
  for (int attempt = 0; attempt < 100; ++attempt) {
    const auto least = RetryDelay(attempt, 0);
    EXPECT_EQ(least, std::min(kRetryDelayMax / 2, attempt == 0 ? before : before * 2));
    for (uint64_t random : {uint64_t{1}, uint64_t{12345}, kRandomMax}) {
      EXPECT_GE(RetryDelay(attempt, random), least);
      EXPECT_LE(RetryDelay(attempt, random), least * 2);
    }
    before = least;
  }
}

}  // namespace
}  // namespace agent_graph::net

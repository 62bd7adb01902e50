#include "base/check.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>

namespace agent_graph {
namespace {

TEST(CheckTest, AConditionThatHoldsIsEvaluatedOnce) {
  int evaluated = 0;
  AG_CHECK(++evaluated == 1, "counts");
  EXPECT_EQ(evaluated, 1);
}

// This holds also in release builds, where assert() does nothing.
TEST(CheckDeathTest, AFailedCheckSaysWhereAndWhyInOneLineAndAborts) {
  const bool held = false;
  EXPECT_EXIT(AG_CHECK(held, "the lock is held"), testing::KilledBySignal(SIGABRT),
              "check_test\\.cc:[0-9]+: check failed: held: the lock is held\n");
}

TEST(CheckDeathTest, ALongExplanationIsCutAndStillEndsTheLine) {
  const std::string explanation(2000, 'x');
  EXPECT_EXIT(CheckFailed("file.cc", 7, "false", explanation.c_str()),
              testing::KilledBySignal(SIGABRT), "^file\\.cc:7: check failed: false: x+\n$");
}

}  // namespace
}  // namespace agent_graph

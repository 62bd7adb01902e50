#include "base/process.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace agent_graph {
namespace {

constexpr int64_t kNobody = 1 << 30;

TEST(Process, IsToldFromOthersByItsStart) {
  const uint64_t start = ProcessStartTime(getpid());
  EXPECT_GT(start, 0u);
  EXPECT_EQ(ProcessStartTime(getpid()), start);
  EXPECT_FALSE(ProcessEnded(getpid(), start));
  EXPECT_TRUE(ProcessEnded(getpid(), start + 1)) << "another one has its id";
  EXPECT_EQ(ProcessStartTime(kNobody), 0u);
  EXPECT_TRUE(ProcessEnded(kNobody, start));
}

TEST(Process, HasEndedBeforeItIsWaitedFor) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_GT(child, 0);
  siginfo_t ended;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(ProcessStartTime(child), 0u);
  EXPECT_TRUE(ProcessEnded(child, 1));
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
}

TEST(Process, HasNotEndedBecauseDescriptorsHaveRunOut) {
  const uint64_t start = ProcessStartTime(getpid());
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_EQ(ProcessStartTime(getpid()), 0u);
  EXPECT_FALSE(ProcessEnded(getpid(), start));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace agent_graph

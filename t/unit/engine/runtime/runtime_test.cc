#include "runtime/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/allocation_account.h"
#include "runtime/large_work.h"
#include "runtime/signal.h"
#include "runtime/yield.h"

namespace agent_graph::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Runtime, RunsBodiesOnItsThreadsInTurn) {
  Runtime runtime(RuntimeOptions{.threads = 2});
  ASSERT_TRUE(runtime.Start().ok());
  std::mutex mutex;
  std::set<std::thread::id> threads;
  for (int i = 0; i < 4; ++i) {
    runtime.Spawn([&] {
      EXPECT_TRUE(OnFiber());
      EXPECT_EQ(Runtime::Current(), &runtime);
      EXPECT_NE(Runtime::CurrentLoop(), nullptr);
      std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    });
  }
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
  EXPECT_EQ(threads.size(), 2u);
  EXPECT_FALSE(OnFiber());
  EXPECT_EQ(Runtime::Current(), nullptr);
  EXPECT_EQ(Runtime::CurrentLoop(), nullptr);
}

TEST(Runtime, SpawnHereStaysOnTheCallingThreadAndSoDoFibers) {
  Runtime runtime(RuntimeOptions{.threads = 2});
  ASSERT_TRUE(runtime.Start().ok());
  std::atomic<int> moved{0};
  std::atomic<int> done{0};
  for (int i = 0; i < 20; ++i) {
    runtime.Spawn([&] {
      const auto thread = std::this_thread::get_id();
      runtime.Spawn([&, thread] { moved += std::this_thread::get_id() != thread; }, true);
      runtime.RunOnIoPool([&] { moved += std::this_thread::get_id() == thread; });
      moved += std::this_thread::get_id() != thread;
      ++done;
    });
  }
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
  EXPECT_EQ(moved, 0);
  EXPECT_EQ(done, 20);
}

TEST(Runtime, LargeWorkOfAFiberLeavesItsThread) {
  constexpr size_t kSmall = size_t{64} * 1024;
  Runtime runtime(RuntimeOptions{});
  ASSERT_TRUE(runtime.Start().ok());
  // True if the work ran on the thread that called RunSized.
  const auto stays = [](size_t bytes) {
    const auto caller = std::this_thread::get_id();
    bool same = false;
    RunSized(bytes, [&] { same = std::this_thread::get_id() == caller; });
    return same;
  };
  EXPECT_TRUE(stays(kSmall + 1)) << "no fiber";
  runtime.Spawn([&] {
    EXPECT_TRUE(stays(kSmall));
    EXPECT_FALSE(stays(kSmall + 1));
    const AllocationScope scope;
    const AllocationAccount* used = nullptr;
    RunSized(kSmall + 1, [&] { used = AllocationAccount::Current(); });
    EXPECT_EQ(used, &scope.account());
    EXPECT_THROW(RunSized(kSmall + 1, [] { throw std::runtime_error("boom"); }),
                 std::runtime_error);
  });
  EXPECT_TRUE(runtime.Stop(kNoDeadline).ok());
}

TEST(Runtime, BodiesBeyondTheCapWaitInOrder) {
  Runtime runtime(RuntimeOptions{.fibers_max = 2});
  std::vector<int> order;
  Signal go[5];
  Signal started;
  for (int i = 0; i < 5; ++i) {
    runtime.Spawn([&, i] {
      order.push_back(i);
      started.Notify();
      go[i].Wait(nullptr, kNoDeadline);
    });
  }
  EXPECT_EQ(runtime.fibers(), 5u) << "they wait for Start";
  ASSERT_TRUE(runtime.Start().ok());
  EXPECT_EQ(runtime.fibers(), 5u);
  for (int i : {1, 0, 2, 3, 4}) go[i].Notify();
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(runtime.fibers(), 0u);
}

TEST(Runtime, ThousandsOfFibersWaitAtOnce) {
  constexpr int kFibers = 3000;
  Runtime runtime(RuntimeOptions{});
  ASSERT_TRUE(runtime.Start().ok());
  const Cancellation cancellation;
  std::atomic<int> cancelled{0};
  Signal all_started;
  int started = 0;
  for (int i = 0; i < kFibers; ++i) {
    runtime.Spawn([&] {
      if (++started == kFibers) all_started.Notify();
      cancelled += SleepFor(std::chrono::hours(1), &cancellation).code() == StatusCode::kCancelled;
    });
  }
  all_started.Wait(nullptr, kNoDeadline);
  cancellation.Cancel(CancelReason::kShutdown);
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
  EXPECT_EQ(cancelled, kFibers);
}

TEST(Runtime, AFiberCanGiveWayToTheOthersOfItsThread) {
  Runtime runtime({.threads = 1});
  ASSERT_TRUE(runtime.Start().ok());
  Yield();  // outside of a fiber
  std::string order;
  const Promise<bool> done;
  runtime.Spawn([&] {
    for (char name : {'a', 'b'}) {
      runtime.Spawn(
          [&, name] {
            for (int i = 0; i < 2; ++i) {
              order += name;
              Yield();
            }
            if (name == 'b') done.Set(true);
          },
          true);
    }
  });
  EXPECT_TRUE(done.Wait(nullptr, kNoDeadline).ok());
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
  EXPECT_EQ(order, "abab");
}

TEST(Runtime, ReportsAnExceptionNobodyCaughtAndGoesOn) {
  std::vector<std::string> lines;
  Runtime runtime(
      RuntimeOptions{.on_uncaught = [&](const std::string& line) { lines.push_back(line); }});
  ASSERT_TRUE(runtime.Start().ok());
  bool ran = false;
  runtime.Spawn([] { throw std::runtime_error("boom"); });
  runtime.Spawn([] { throw 42; });
  runtime.Spawn([&] { ran = true; });
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
  EXPECT_THAT(lines, ElementsAre(HasSubstr("boom"), HasSubstr("unknown")));
  EXPECT_TRUE(ran);
}

TEST(Runtime, StopGivesUpOnAWaitingFiberWithoutUnwindingIt) {
  struct Shared {
    Signal go_on;
    Promise<bool> started;
    Promise<bool> unwound;
  };
  struct Unwound {
    std::shared_ptr<Shared> shared;
    ~Unwound() { shared->unwound.Set(true); }
  };
  const auto shared = std::make_shared<Shared>();
  {
    Runtime runtime(RuntimeOptions{});
    ASSERT_TRUE(runtime.Start().ok());
    runtime.Spawn([shared] {
      const Unwound guard{shared};
      shared->started.Set(true);
      shared->go_on.Wait(nullptr, kNoDeadline);
    });
    ASSERT_TRUE(shared->started.Wait(nullptr, kNoDeadline).ok());
    const Status status = runtime.Stop(MonotonicClock::now());
    EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
    EXPECT_THAT(status.message(), HasSubstr("1"));
  }
  EXPECT_FALSE(shared->unwound.Wait(nullptr, MonotonicClock::now()).ok());
  shared->go_on.Notify();
  EXPECT_TRUE(shared->unwound.Wait(nullptr, kNoDeadline).ok()) << "its thread lives on";
}

TEST(Runtime, AfterStopABodyIsDestroyedUnrun) {
  Runtime runtime(RuntimeOptions{});
  ASSERT_TRUE(runtime.Start().ok());
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
  auto owned = std::make_shared<int>(1);
  runtime.Spawn([owned] { ADD_FAILURE() << "ran"; });
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_TRUE(runtime.Stop(kNoDeadline).ok()) << "once more does no harm";
}

TEST(Runtime, ThreadsTakeNoSignalsButTheirOwnFaults) {
  Runtime runtime(RuntimeOptions{});
  ASSERT_TRUE(runtime.Start().ok());
  const auto check = [] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    EXPECT_TRUE(sigismember(&mask, SIGTERM));
    EXPECT_TRUE(sigismember(&mask, SIGHUP));
    EXPECT_TRUE(sigismember(&mask, SIGCHLD));
    EXPECT_FALSE(sigismember(&mask, SIGSEGV));
  };
  runtime.Spawn([&] {
    check();
    runtime.RunOnIoPool(check);
    EXPECT_TRUE(runtime
                    .RunUserFunction(std::make_shared<std::function<void()>>(check), "check",
                                     Cancellation(), kNoDeadline)
                    .ok());
  });
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_FALSE(sigismember(&mask, SIGTERM)) << "the caller keeps its own mask";
}

TEST(RunOnIoPool, BlocksItsFiberOnlyAndHandsOnExceptions) {
  Runtime runtime(RuntimeOptions{.io_threads_max = 1});
  ASSERT_TRUE(runtime.Start().ok());
  Signal other_fiber_ran;
  std::string caught;
  runtime.Spawn([&] {
    runtime.RunOnIoPool([&] {
      EXPECT_FALSE(OnFiber());
      EXPECT_EQ(Runtime::Current(), &runtime);
      other_fiber_ran.Wait(nullptr, kNoDeadline);
    });
    try {
      runtime.RunOnIoPool([] { throw std::runtime_error("disk"); });
    } catch (const std::exception& error) {
      caught = error.what();
    }
  });
  runtime.Spawn([&] { other_fiber_ran.Notify(); });
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
  EXPECT_EQ(caught, "disk");
}

TEST(RunOnIoPool, RunsManyJobsOnFewThreads) {
  Runtime runtime(RuntimeOptions{.io_threads_max = 2});
  ASSERT_TRUE(runtime.Start().ok());
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> done{0};
  for (int i = 0; i < 100; ++i) {
    runtime.Spawn([&] {
      runtime.RunOnIoPool([&] {
        std::lock_guard lock(mutex);
        threads.insert(std::this_thread::get_id());
      });
      ++done;
    });
  }
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
  EXPECT_EQ(done, 100);
  EXPECT_LE(threads.size(), 2u);
}

}  // namespace
}  // namespace agent_graph::runtime

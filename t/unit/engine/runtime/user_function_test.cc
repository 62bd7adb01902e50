#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/runtime.h"
#include "runtime/signal.h"

namespace agent_graph::runtime {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

std::shared_ptr<std::function<void()>> Function(std::function<void()> work) {
  return std::make_shared<std::function<void()>>(std::move(work));
}

RuntimeOptions SmallPool() {
  RuntimeOptions options;
  options.user_threads_active = 2;
  options.lost_grace = milliseconds(0);
  return options;
}

TEST(RunUserFunction, RunsOffTheEngineThreadAndReturns) {
  Runtime runtime(RuntimeOptions{});
  ASSERT_TRUE(runtime.Start().ok());
  Status status(StatusCode::kInternal, "not run");
  runtime.Spawn([&] {
    const auto engine_thread = std::this_thread::get_id();
    status = runtime.RunUserFunction(Function([&, engine_thread] {
                                       EXPECT_NE(std::this_thread::get_id(), engine_thread);
                                       EXPECT_FALSE(OnFiber());
                                       EXPECT_EQ(Runtime::Current(), &runtime);
                                     }),
                                     "node", Cancellation(), kNoDeadline);
  });
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST(RunUserFunction, ExceptionsBecomeGraphFailures) {
  Runtime runtime(RuntimeOptions{});
  ASSERT_TRUE(runtime.Start().ok());
  const Status typed = runtime.RunUserFunction(Function([] { throw std::runtime_error("boom"); }),
                                               "broken", Cancellation(), kNoDeadline);
  EXPECT_EQ(typed.code(), StatusCode::kGraph);
  EXPECT_THAT(typed.message(), HasSubstr("boom"));
  EXPECT_THAT(typed.message(), HasSubstr("broken"));
  const Status other =
      runtime.RunUserFunction(Function([] { throw 42; }), "odd", Cancellation(), kNoDeadline);
  EXPECT_EQ(other.code(), StatusCode::kGraph);
}

// Functions that wait for functions started later: they can finish only if waiting ones are parked.
TEST(RunUserFunction, WaitingFunctionsDoNotCount) {
  constexpr int kTasks = 50;
  Runtime runtime(SmallPool());
  ASSERT_TRUE(runtime.Start().ok());
  auto signals = std::make_shared<std::vector<Signal>>(kTasks + 1);
  std::atomic<int> finished{0};
  for (int i = 0; i < kTasks; ++i) {
    runtime.Spawn([&, i] {
      const Status status = runtime.RunUserFunction(Function([signals, i] {
                                                      (*signals)[i + 1].Wait(nullptr, kNoDeadline);
                                                      (*signals)[i].Notify();
                                                    }),
                                                    "chained", Cancellation(), kNoDeadline);
      finished += status.ok();
    });
  }
  runtime.Spawn([&] {
    static_cast<void>(runtime.RunUserFunction(Function([signals] { (*signals)[kTasks].Notify(); }),
                                              "last", Cancellation(), kNoDeadline));
  });
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
  EXPECT_EQ(finished, kTasks);
}

TEST(RunUserFunction, NoMoreThanTheBoundRunAtOnce) {
  Runtime runtime(SmallPool());
  ASSERT_TRUE(runtime.Start().ok());
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  for (int i = 0; i < 40; ++i) {
    runtime.Spawn([&] {
      const Status status =
          runtime.RunUserFunction(Function([&] {
                                    const int now = ++running;
                                    int seen = most;
                                    while (seen < now && !most.compare_exchange_weak(seen, now));
                                    std::this_thread::yield();
                                    --running;
                                  }),
                                  "counted", Cancellation(), kNoDeadline);
      EXPECT_TRUE(status.ok());
    });
  }
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
  EXPECT_LE(most, 2);
}

TEST(RunUserFunction, RunsDoNotKeepAuthenticationWaiting) {
  RuntimeOptions options = SmallPool();
  options.user_threads_max = 2;
  Runtime runtime(options);
  ASSERT_TRUE(runtime.Start().ok());
  std::promise<void> release;
  std::shared_future<void> released = release.get_future();
  for (int i = 0; i < 5; ++i) {
    runtime.Spawn([&] {
      EXPECT_TRUE(runtime
                      .RunUserFunction(Function([released] { released.wait(); }), "slow",
                                       Cancellation(), kNoDeadline)
                      .ok());
    });
  }
  std::promise<Status> asked;
  runtime.Spawn([&] {
    asked.set_value(runtime.RunUserFunction(Function([] {}), "auth", Cancellation(), kNoDeadline,
                                            UserShare::kAuth));
  });
  EXPECT_TRUE(asked.get_future().get().ok());
  release.set_value();
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
}

TEST(RunUserFunction, AuthenticationThatWaitsOrHangsKeepsNoOtherWaiting) {
  RuntimeOptions options;
  options.auth_threads_active = 1;
  Runtime runtime(options);
  ASSERT_TRUE(runtime.Start().ok());
  const Promise<bool> parks;
  auto wake = std::make_shared<Signal>();
  runtime.Spawn([&, parks, wake] {
    const Status status =
        runtime.RunUserFunction(Function([parks, wake] {
                                  parks.Set(true);
                                  wake->Wait(nullptr, kNoDeadline);
                                }),
                                "parked", Cancellation(), kNoDeadline, UserShare::kAuth);
    EXPECT_TRUE(status.ok());
  });
  ASSERT_TRUE(parks.Wait(nullptr, kNoDeadline).ok());
  const Cancellation cancellation;
  auto release = std::make_shared<std::promise<void>>();
  const auto released = std::make_shared<std::shared_future<void>>(release->get_future());
  const Status stuck =
      runtime.RunUserFunction(Function([cancellation, released] {
                                cancellation.Cancel(CancelReason::kClientGone);
                                released->wait();
                              }),
                              "stuck", cancellation, kNoDeadline, UserShare::kAuth);
  EXPECT_EQ(stuck.code(), StatusCode::kCancelled);
  EXPECT_TRUE(runtime
                  .RunUserFunction(Function([] {}), "next", Cancellation(),
                                   DeadlineAfter(std::chrono::seconds(60)), UserShare::kAuth)
                  .ok());
  wake->Notify();
  release->set_value();
  EXPECT_TRUE(runtime.Stop(kNoDeadline).ok());
}

// Runs `work` when the calling thread ends.
void AtEndOfThread(std::function<void()> work) {
  struct AtEnd {
    ~AtEnd() { work(); }
    std::function<void()> work;
  };
  thread_local AtEnd at_end;
  at_end.work = std::move(work);
}

TEST(RunUserFunction, AThreadThatDoesNotEndKeepsNoFunctionWaiting) {
  Runtime runtime(SmallPool());
  ASSERT_TRUE(runtime.Start().ok());
  const Cancellation cancellation;
  const Promise<bool> ending;
  std::promise<void> give_up;
  std::promise<void> release;
  const auto function = Function(
      [cancellation, ending, given_up = std::make_shared<std::future<void>>(give_up.get_future()),
       released = std::make_shared<std::future<void>>(release.get_future())] {
        AtEndOfThread([ending, released] {
          ending.Set(true);
          released->wait();
        });
        cancellation.Cancel(CancelReason::kClientGone);
        given_up->wait();
      });
  EXPECT_EQ(runtime.RunUserFunction(function, "slow", cancellation, kNoDeadline).code(),
            StatusCode::kCancelled);
  give_up.set_value();
  ASSERT_TRUE(ending.Wait(nullptr, kNoDeadline).ok());
  EXPECT_TRUE(runtime.RunUserFunction(Function([] {}), "next", Cancellation(), kNoDeadline).ok());
  EXPECT_FALSE(runtime.Stop(MonotonicClock::now()).ok()) << "the destructor still runs";
  release.set_value();
  EXPECT_TRUE(runtime.Stop(kNoDeadline).ok());
}

TEST(RunUserFunction, WhenAThreadEndsAnotherStartsForAFunctionThatWaits) {
  RuntimeOptions options = SmallPool();
  options.threads = 1;
  options.user_threads_max = 1;
  Runtime runtime(options);
  ASSERT_TRUE(runtime.Start().ok());
  const Cancellation cancellation;
  auto release = std::make_shared<std::promise<void>>();
  const auto stuck = Function([cancellation, release] {
    cancellation.Cancel(CancelReason::kClientGone);
    release->get_future().wait();
  });
  EXPECT_EQ(runtime.RunUserFunction(stuck, "stuck", cancellation, kNoDeadline).code(),
            StatusCode::kCancelled);
  const Promise<bool> waits;
  const Promise<bool> returned;
  runtime.Spawn([&runtime, returned] {
    const Status next =
        runtime.RunUserFunction(Function([] {}), "next", Cancellation(), kNoDeadline);
    returned.Set(next.ok());
  });
  runtime.Spawn([waits] { waits.Set(true); });  // behind the other fiber, on the same thread
  ASSERT_TRUE(waits.Wait(nullptr, kNoDeadline).ok());
  release->set_value();
  EXPECT_TRUE(*returned.Wait(nullptr, kNoDeadline));
  EXPECT_TRUE(runtime.Stop(kNoDeadline).ok());
}

TEST(RunUserFunction, CalledByAUserFunctionRunsOnItsThread) {
  RuntimeOptions options = SmallPool();
  options.user_threads_active = 1;
  options.user_threads_max = 1;
  Runtime runtime(options);
  ASSERT_TRUE(runtime.Start().ok());
  bool same = false;
  const Status status = runtime.RunUserFunction(
      Function([&] {
        const auto outer = std::this_thread::get_id();
        const Status inner = runtime.RunUserFunction(
            Function([&, outer] { same = std::this_thread::get_id() == outer; }), "inner",
            Cancellation(), kNoDeadline);
        EXPECT_TRUE(inner.ok());
      }),
      "outer", Cancellation(), kNoDeadline);
  EXPECT_TRUE(status.ok());
  EXPECT_TRUE(same);
}

TEST(RunUserFunction, PastItsDeadlineItsThreadIsReplaced) {
  Runtime runtime(SmallPool());
  ASSERT_TRUE(runtime.Start().ok());
  auto release = std::make_shared<std::promise<void>>();
  const auto released = std::make_shared<std::shared_future<void>>(release->get_future());
  // More than the pool runs at once. A function that has not started in time costs no thread.
  while (runtime.lost_threads() < 3) {
    const Status stuck =
        runtime.RunUserFunction(Function([released] { released->wait(); }), "stuck", Cancellation(),
                                DeadlineAfter(milliseconds(5)));
    ASSERT_EQ(stuck.code(), StatusCode::kDeadlineExceeded);
  }
  EXPECT_TRUE(runtime.RunUserFunction(Function([] {}), "next", Cancellation(), kNoDeadline).ok());

  const Status late = runtime.Stop(MonotonicClock::now());
  EXPECT_EQ(late.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(late.message(), HasSubstr("stuck"));
  release->set_value();
  EXPECT_TRUE(runtime.Stop(kNoDeadline).ok()) << "they came back after all";
  EXPECT_EQ(runtime.lost_threads(), 0u);
}

// Clients that disconnect must not make a worker retire.
TEST(RunUserFunction, OfACancelledCallerIsNotLostBeforeItsDeadline) {
  Runtime runtime(SmallPool());
  ASSERT_TRUE(runtime.Start().ok());
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  auto started = std::make_shared<std::atomic<size_t>>(0);
  const auto give_up = [&](Deadline deadline) {
    const Cancellation cancellation;
    const auto work = Function([cancellation, released, started] {
      ++*started;
      cancellation.Cancel(CancelReason::kClientGone);
      released.wait();
    });
    return runtime.RunUserFunction(work, "slow", cancellation, deadline).code();
  };
  EXPECT_EQ(give_up(DeadlineAfter(std::chrono::hours(1))), StatusCode::kCancelled);
  EXPECT_EQ(give_up(kNoDeadline), StatusCode::kCancelled);
  EXPECT_TRUE(runtime.RunUserFunction(Function([] {}), "next", Cancellation(), kNoDeadline).ok())
      << "their threads were replaced";
  EXPECT_EQ(runtime.lost_threads(), 0u);

  *started = 0;
  while (give_up(DeadlineAfter(milliseconds(50))) != StatusCode::kCancelled) continue;
  while (runtime.lost_threads() < *started) std::this_thread::yield();
  release.set_value();
  EXPECT_TRUE(runtime.Stop(kNoDeadline).ok());
}

TEST(RunUserFunction, CancelledCallerReturnsAtOnce) {
  Runtime runtime(SmallPool());
  ASSERT_TRUE(runtime.Start().ok());
  const Cancellation cancellation;
  const Promise<bool> started;
  auto release = std::make_shared<Signal>();
  const Promise<StatusCode> returned;
  runtime.Spawn([&runtime, cancellation, started, release, returned] {
    returned.Set(runtime
                     .RunUserFunction(Function([started, release] {
                                        started.Set(true);
                                        release->Wait(nullptr, kNoDeadline);
                                      }),
                                      "parked", cancellation, kNoDeadline)
                     .code());
  });
  ASSERT_TRUE(started.Wait(nullptr, kNoDeadline).ok());
  cancellation.Cancel(CancelReason::kClientGone);
  EXPECT_EQ(*returned.Wait(nullptr, kNoDeadline), StatusCode::kCancelled);
  release->Notify();
  EXPECT_TRUE(runtime.Stop(kNoDeadline).ok());
}

TEST(RunUserFunction, QueuedBehindOthersItLeavesTheQueueAtItsDeadline) {
  RuntimeOptions options = SmallPool();
  options.user_threads_active = 1;
  Runtime runtime(options);
  ASSERT_TRUE(runtime.Start().ok());
  const Promise<bool> started;
  std::promise<void> release;
  runtime.Spawn([&] {
    EXPECT_TRUE(runtime
                    .RunUserFunction(Function([&] {
                                       started.Set(true);
                                       release.get_future().wait();
                                     }),
                                     "busy", Cancellation(), kNoDeadline)
                    .ok());
  });
  ASSERT_TRUE(started.Wait(nullptr, kNoDeadline).ok());
  auto ran = std::make_shared<std::atomic<bool>>(false);
  const Status queued = runtime.RunUserFunction(Function([ran] { *ran = true; }), "queued",
                                                Cancellation(), DeadlineAfter(milliseconds(1)));
  EXPECT_EQ(queued.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(runtime.lost_threads(), 0u);
  release.set_value();
  EXPECT_TRUE(runtime.Stop(kNoDeadline).ok());
  EXPECT_FALSE(*ran);
}

// Calls, deadlines and cancellations from several engine threads at once.
TEST(RunUserFunction, SurvivesACrowd) {
  RuntimeOptions options = SmallPool();
  options.threads = 2;
  options.user_threads_active = 4;
  options.user_threads_max = 16;
  Runtime runtime(options);
  ASSERT_TRUE(runtime.Start().ok());
  std::atomic<int> returned{0};
  constexpr int kRuns = 400;
  for (int i = 0; i < kRuns; ++i) {
    runtime.Spawn([&runtime, &returned, i] {
      const Cancellation cancellation;
      const Deadline deadline =
          i % 3 == 0 ? MonotonicClock::now() + std::chrono::microseconds(i) : kNoDeadline;
      auto hook = std::make_shared<Signal>();
      if (i % 5 == 0) cancellation.Cancel(CancelReason::kStopped);
      if (i % 7 == 0) {
        runtime.Spawn([cancellation] { cancellation.Cancel(CancelReason::kClientGone); });
      }
      const Status status = runtime.RunUserFunction(
          Function([hook, i] {
            hook->Wait(nullptr, MonotonicClock::now() + std::chrono::microseconds(i % 50));
          }),
          "crowd", cancellation, deadline);
      static_cast<void>(status);
      ++returned;
    });
  }
  ASSERT_TRUE(runtime.Stop(kNoDeadline).ok());
  EXPECT_EQ(returned, kRuns);
}

}  // namespace
}  // namespace agent_graph::runtime

#include "runtime/signal.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/runtime.h"

namespace agent_graph::runtime {
namespace {

using std::chrono::milliseconds;

constexpr Deadline kPast{};

class OnOneEngineThread : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(runtime_.Start().ok()); }
  void TearDown() override { EXPECT_TRUE(runtime_.Stop(kNoDeadline).ok()); }

  Runtime runtime_{RuntimeOptions{}};
};

TEST(SignalOnAThread, NotifyMayComeFirst) {
  Signal signal;
  signal.Notify();
  EXPECT_EQ(signal.Wait(nullptr, kNoDeadline), WakeReason::kNotified);
  EXPECT_EQ(signal.Wait(nullptr, kPast), WakeReason::kDeadline) << "it resets itself";
}

TEST(SignalOnAThread, NotificationWinsOverCancellationAndDeadline) {
  Signal signal;
  const Cancellation cancellation;
  cancellation.Cancel(CancelReason::kStopped);
  signal.Notify();
  EXPECT_EQ(signal.Wait(&cancellation, kPast), WakeReason::kNotified);
  EXPECT_EQ(signal.Wait(&cancellation, kPast), WakeReason::kCancelled);
}

TEST(SignalOnAThread, WakesAtTheDeadline) {
  Signal signal;
  EXPECT_EQ(signal.Wait(nullptr, DeadlineAfter(milliseconds(1))), WakeReason::kDeadline);
}

TEST(SignalOnAThread, WakesWhenCancelled) {
  Signal signal;
  const Cancellation cancellation;
  std::thread canceller([&] { cancellation.Cancel(CancelReason::kStopped); });
  EXPECT_EQ(signal.Wait(&cancellation, kNoDeadline), WakeReason::kCancelled);
  canceller.join();
}

TEST_F(OnOneEngineThread, FiberWaitsForAnotherFiber) {
  Signal ping;
  Signal pong;
  int rounds = 0;
  runtime_.Spawn([&] {
    for (int i = 0; i < 1000; ++i) {
      ping.Wait(nullptr, kNoDeadline);
      pong.Notify();
    }
  });
  runtime_.Spawn([&] {
    for (int i = 0; i < 1000; ++i) {
      ping.Notify();
      if (pong.Wait(nullptr, kNoDeadline) == WakeReason::kNotified) ++rounds;
    }
  });
  ASSERT_TRUE(runtime_.Stop(kNoDeadline).ok());
  EXPECT_EQ(rounds, 1000);
}

TEST_F(OnOneEngineThread, FiberWakesAtItsDeadlineAndInOrder) {
  std::vector<int> order;
  bool all_waited = false;
  // The order is defined only if all of them wait before the first deadline.
  for (milliseconds first{1}; !all_waited; first *= 2) {
    order.clear();
    int running = 4;
    const Promise<bool> over;
    runtime_.Spawn([&, first] {
      const Deadline begin = DeadlineAfter(first);
      for (int later : {2, 0, 1}) {
        runtime_.Spawn(
            [&, begin, later] {
              Signal never;
              const Deadline deadline = begin + milliseconds(later);
              if (never.Wait(nullptr, deadline) == WakeReason::kDeadline) order.push_back(later);
              if (--running == 0) over.Set(true);
            },
            true);
      }
      // Starts after the others, when they are already waiting.
      runtime_.Spawn(
          [&, begin] {
            all_waited = MonotonicClock::now() < begin;
            if (--running == 0) over.Set(true);
          },
          true);
    });
    ASSERT_TRUE(over.Wait(nullptr, kNoDeadline).ok());
  }
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST_F(OnOneEngineThread, FiberWakesWhenCancelledFromOutsideAndFromItsThread) {
  const Cancellation from_outside;
  const Cancellation from_fiber;
  std::atomic<int> cancelled{0};
  for (const Cancellation* cancellation : {&from_outside, &from_fiber}) {
    runtime_.Spawn([&cancelled, cancellation] {
      Signal never;
      if (never.Wait(cancellation, DeadlineAfter(std::chrono::hours(1))) ==
          WakeReason::kCancelled) {
        ++cancelled;
      }
    });
  }
  runtime_.Spawn([&] { from_fiber.Cancel(CancelReason::kStopped); });
  from_outside.Cancel(CancelReason::kClientGone);
  ASSERT_TRUE(runtime_.Stop(kNoDeadline).ok());
  EXPECT_EQ(cancelled, 2);
}

TEST_F(OnOneEngineThread, SignalMayDieAsSoonAsItsWaiterIsAwake) {
  constexpr int kRounds = 2000;
  std::atomic<Signal*> offered{nullptr};
  runtime_.Spawn([&] {
    for (int i = 0; i < kRounds; ++i) {
      Signal signal;
      offered = &signal;
      signal.Wait(nullptr, kNoDeadline);
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    Signal* signal;
    while ((signal = offered.exchange(nullptr)) == nullptr) std::this_thread::yield();
    signal->Notify();
  }
}

// All ways to wake a waiting fiber at once: exactly one wins, and the fiber resumes once.
TEST_F(OnOneEngineThread, NotifyCancelAndDeadlineRace) {
  constexpr int kRounds = 500;
  for (int i = 0; i < kRounds; ++i) {
    auto signal = std::make_shared<Signal>();
    const Cancellation cancellation;
    Promise<WakeReason> first;
    Promise<WakeReason> second;
    const Deadline deadline = MonotonicClock::now() + std::chrono::microseconds(i % 60);
    runtime_.Spawn([=] {
      first.Set(signal->Wait(&cancellation, deadline));
      second.Set(signal->Wait(nullptr, MonotonicClock::now() + std::chrono::microseconds(50)));
    });
    std::thread notifier([&] { signal->Notify(); });
    cancellation.Cancel(CancelReason::kStopped);
    notifier.join();
    const WakeReason reason = *first.Wait(nullptr, kNoDeadline);
    const WakeReason next = *second.Wait(nullptr, kNoDeadline);
    if (reason == WakeReason::kNotified) {
      EXPECT_EQ(next, WakeReason::kDeadline) << "one notification, seen twice";
    }
    EXPECT_NE(next, WakeReason::kCancelled);
  }
}

TEST_F(OnOneEngineThread, PromiseCarriesAMoveOnlyValueBetweenThreads) {
  const Promise<std::unique_ptr<int>> promise;
  runtime_.Spawn([promise] { promise.Set(std::make_unique<int>(7)); });
  Result<std::unique_ptr<int>> value = promise.Wait(nullptr, kNoDeadline);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(**value, 7);
}

TEST(Promise, FirstValueStaysAndAFailedWaitSaysWhy) {
  const Promise<std::string> promise;
  EXPECT_EQ(promise.Wait(nullptr, kPast).status().code(), StatusCode::kDeadlineExceeded);
  const Cancellation stopped;
  stopped.Cancel(CancelReason::kStopped);
  EXPECT_EQ(promise.Wait(&stopped, kPast).status().code(), StatusCode::kCancelled);
  const Cancellation late;
  late.Cancel(CancelReason::kDeadline);
  EXPECT_EQ(promise.Wait(&late, kNoDeadline).status().code(), StatusCode::kDeadlineExceeded);
  promise.Set("first");
  promise.Set("second");
  EXPECT_EQ(*promise.Wait(&stopped, kPast), "first");
}

TEST_F(OnOneEngineThread, SleepEndsInTimeOrWhenCancelled) {
  const Cancellation cancellation;
  const Promise<StatusCode> slept;
  const Promise<StatusCode> cut;
  runtime_.Spawn([&] {
    slept.Set(SleepFor(milliseconds(1), &cancellation).code());
    cut.Set(SleepFor(std::chrono::hours(1), &cancellation).code());
  });
  EXPECT_EQ(*slept.Wait(nullptr, kNoDeadline), StatusCode::kOk);
  cancellation.Cancel(CancelReason::kShutdown);
  EXPECT_EQ(*cut.Wait(nullptr, kNoDeadline), StatusCode::kCancelled);
}

// Without special handling, two fibers that wait inside catch blocks exchange their exceptions.
TEST_F(OnOneEngineThread, FibersKeepTheirCaughtExceptionsApart) {
  Signal turn_of[2];
  std::string seen[2];
  bool nested_was_empty[2] = {false, false};
  for (int i = 0; i < 2; ++i) {
    runtime_.Spawn([&, i] {
      nested_was_empty[i] = std::current_exception() == nullptr;
      try {
        throw std::runtime_error("exception of fiber " + std::to_string(i));
      } catch (const std::exception&) {
        for (int n = 0; n < 100; ++n) {
          turn_of[1 - i].Notify();
          turn_of[i].Wait(nullptr, kNoDeadline);
          try {
            throw;
          } catch (const std::exception& mine) {
            if (n == 0 || seen[i] == mine.what()) seen[i] = mine.what();
          }
        }
        turn_of[1 - i].Notify();
      }
    });
  }
  ASSERT_TRUE(runtime_.Stop(kNoDeadline).ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(seen[i], "exception of fiber " + std::to_string(i));
    EXPECT_TRUE(nested_was_empty[i]);
  }
}

}  // namespace
}  // namespace agent_graph::runtime

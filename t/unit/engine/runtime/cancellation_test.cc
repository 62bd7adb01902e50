#include "runtime/cancellation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace agent_graph::runtime {
namespace {

TEST(Cancellation, FirstReasonWins) {
  const Cancellation cancellation;
  EXPECT_FALSE(cancellation.cancelled());
  cancellation.Cancel(CancelReason::kStopped);
  cancellation.Cancel(CancelReason::kDeadline);
  EXPECT_EQ(cancellation.reason(), CancelReason::kStopped);
  EXPECT_STREQ(CancelReasonName(cancellation.reason()), "stopped");
}

TEST(Cancellation, CallsBackOnceAndCopiesShareIt) {
  const Cancellation cancellation;
  int calls = 0;
  const auto registration = cancellation.OnCancel([&] { ++calls; });
  const Cancellation copy = cancellation;
  copy.Cancel(CancelReason::kShutdown);
  copy.Cancel(CancelReason::kShutdown);
  EXPECT_EQ(calls, 1);
}

TEST(Cancellation, CallsBackAtOnceWhenAlreadyCancelled) {
  const Cancellation cancellation;
  cancellation.Cancel(CancelReason::kClientGone);
  bool called = false;
  const auto registration = cancellation.OnCancel([&] { called = true; });
  EXPECT_TRUE(called);
}

TEST(Cancellation, DestroyedRegistrationIsNotCalled) {
  const Cancellation cancellation;
  std::vector<int> called;
  auto first = cancellation.OnCancel([&] { called.push_back(1); });
  auto second = cancellation.OnCancel([&] { called.push_back(2); });
  auto third = cancellation.OnCancel([&] { called.push_back(3); });
  second.reset();
  cancellation.Cancel(CancelReason::kStopped);
  EXPECT_EQ(called, (std::vector<int>{3, 1}));
}

TEST(Cancellation, CallbackMayDestroyItsOwnAndOtherRegistrations) {
  const Cancellation cancellation;
  bool other_called = false;
  auto other = cancellation.OnCancel([&] { other_called = true; });
  std::unique_ptr<Cancellation::Registration> own;
  own = cancellation.OnCancel([&] {
    own.reset();
    other.reset();
  });
  cancellation.Cancel(CancelReason::kStopped);
  EXPECT_EQ(own, nullptr);
  EXPECT_FALSE(other_called);
}

TEST(Cancellation, DestroyingARegistrationWaitsForItsRunningCallback) {
  const Cancellation cancellation;
  std::promise<void> entered;
  std::promise<void> leave;
  std::atomic<bool> left{false};
  auto registration = cancellation.OnCancel([&] {
    entered.set_value();
    leave.get_future().wait();
    left = true;
  });
  std::thread canceller([&] { cancellation.Cancel(CancelReason::kStopped); });
  entered.get_future().wait();
  std::thread releaser([&] { leave.set_value(); });
  registration.reset();
  EXPECT_TRUE(left);
  canceller.join();
  releaser.join();
}

TEST(Cancellation, RegistrationsComeAndGoWhileItIsCancelled) {
  for (int round = 0; round < 200; ++round) {
    const Cancellation cancellation;
    std::atomic<int> calls{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 50; ++n) {
          const auto registration = cancellation.OnCancel([&] { ++calls; });
        }
      });
    }
    cancellation.Cancel(CancelReason::kStopped);
    for (auto& thread : threads) thread.join();
    EXPECT_LE(calls, 150);
  }
}

}  // namespace
}  // namespace agent_graph::runtime

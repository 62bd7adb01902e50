#include "net/resolver.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <vector>

#include "on_fiber.h"
#include "runtime/signal.h"
#include "runtime/yield.h"

namespace agent_graph::net {
namespace {

// A name server that answers nothing until it is opened.
class ResolverTest : public testing::OnFiber {
 protected:
  void TearDown() override {
    OpenServer();
    OnFiber::TearDown();
  }

  void OpenServer() {
    if (!is_open_.exchange(true)) gate_.set_value();
  }

  // Starts a lookup on a fiber of this thread and lets it run until it waits.
  runtime::Promise<StatusCode> StartLookup(const std::string& host,
                                           const runtime::Cancellation& cancellation = {}) {
    const runtime::Promise<StatusCode> end;
    runtime_.Spawn(
        [this, host, cancellation, end] {
          end.Set(resolver_.Resolve(host, "80", &cancellation, kNoDeadline).status().code());
        },
        /*here=*/true);
    runtime::Yield();
    return end;
  }

  static StatusCode EndOf(const runtime::Promise<StatusCode>& lookup) {
    return lookup.Wait(nullptr, kNoDeadline).value();
  }

  std::atomic<bool> is_open_{false};
  std::promise<void> gate_;
  std::shared_future<void> opened_ = gate_.get_future().share();
  std::atomic<int> lookups_{0};
  Resolver resolver_{[this, opened = opened_](const std::string& host, const std::string& port) {
    ++lookups_;
    opened.wait();
    return host == "none" ? Lookup{{}, "no such name"} : Lookup{AddressOf("127.0.0.1", port), ""};
  }};
};

TEST_F(ResolverTest, ASilentNameServerKeepsNoOtherWorkWaiting) {
  Run([&] {
    std::vector<runtime::Promise<StatusCode>> lookups;
    for (int i = 0; i < 8; ++i) lookups.push_back(StartLookup("host" + std::to_string(i)));
    bool has_run = false;
    runtime_.RunOnIoPool([&] { has_run = true; });
    EXPECT_TRUE(has_run);
    EXPECT_EQ(resolver_.pending(), 8u);
    OpenServer();
    for (const auto& lookup : lookups) EXPECT_EQ(EndOf(lookup), StatusCode::kOk);
  });
}

TEST_F(ResolverTest, CallersOfOneNameShareALookup) {
  Run([&] {
    std::vector<runtime::Promise<StatusCode>> lookups;
    for (int i = 0; i < 100; ++i) lookups.push_back(StartLookup("none"));
    EXPECT_EQ(resolver_.pending(), 1u);
    OpenServer();
    for (const auto& lookup : lookups) EXPECT_EQ(EndOf(lookup), StatusCode::kNotFound);
    EXPECT_EQ(lookups_, 1);
    EXPECT_EQ(EndOf(StartLookup("none")), StatusCode::kNotFound);
    EXPECT_EQ(lookups_, 2) << "results are not kept";
  });
}

TEST_F(ResolverTest, TheQueueIsBounded) {
  Run([&] {
    std::vector<runtime::Promise<StatusCode>> lookups;
    size_t started = 0;
    // Threads take names from the queue at any time, so the number that fits has two bounds.
    while (resolver_.pending() == started) {
      lookups.push_back(StartLookup("host" + std::to_string(started++)));
    }
    EXPECT_GE(resolver_.pending(), Resolver::kQueuedMax);
    EXPECT_LE(resolver_.pending(), Resolver::kQueuedMax + Resolver::kThreadsMax);
    EXPECT_EQ(EndOf(lookups.back()), StatusCode::kUnavailable);
    lookups.pop_back();
    OpenServer();
    for (const auto& lookup : lookups) EXPECT_EQ(EndOf(lookup), StatusCode::kOk);
  });
}

TEST_F(ResolverTest, ANameThatNobodyWaitsForLeavesTheQueue) {
  Run([&] {
    for (size_t i = 0; i < Resolver::kThreadsMax; ++i) StartLookup("host" + std::to_string(i));
    while (lookups_ < static_cast<int>(Resolver::kThreadsMax)) runtime::Yield();
    const runtime::Cancellation cancellation;
    const auto left = StartLookup("left", cancellation);
    EXPECT_EQ(resolver_.pending(), Resolver::kThreadsMax + 1);
    cancellation.Cancel(runtime::CancelReason::kStopped);
    EXPECT_EQ(EndOf(left), StatusCode::kCancelled);
    EXPECT_EQ(resolver_.pending(), Resolver::kThreadsMax);
  });
}

}  // namespace
}  // namespace agent_graph::net

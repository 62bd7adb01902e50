#include "api/http/page_reads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

namespace agent_graph::api {
namespace {

TEST(PageReads, ThoseWithoutAPlaceWaitInTheirOrder) {
  PageReads reads(1);
  const runtime::Cancellation cancellation;
  std::optional<PageReads::Place> first(*reads.Enter(cancellation, kNoDeadline));
  std::atomic<bool> entered = false;
  std::thread second([&] {
    const auto place = reads.Enter(cancellation, kNoDeadline);
    EXPECT_TRUE(place.ok());
    entered = true;
  });
  EXPECT_EQ(reads.Enter(cancellation, MonotonicClock::now()).status().code(),
            StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(entered);
  first.reset();
  second.join();
  EXPECT_TRUE(reads.Enter(cancellation, kNoDeadline).ok());
}

TEST(PageReads, WaitsEndWithTheRequest) {
  PageReads reads(0);
  const runtime::Cancellation cancellation;
  cancellation.Cancel(runtime::CancelReason::kClientGone);
  EXPECT_EQ(reads.Enter(cancellation, kNoDeadline).status().code(), StatusCode::kCancelled);
}

TEST(PageReads, NeverGivesMorePlacesThanThereAre) {
  constexpr int kPlaces = 3;
  PageReads reads(kPlaces);
  std::atomic<int> inside = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const runtime::Cancellation cancellation;
      for (int turn = 0; turn < 200; ++turn) {
        // Some give up while they get a place.
        const auto place =
            reads.Enter(cancellation, DeadlineAfter(std::chrono::milliseconds(turn % 2)));
        if (!place.ok()) continue;
        EXPECT_LE(++inside, kPlaces);
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const runtime::Cancellation cancellation;
  std::vector<PageReads::Place> places;
  for (int i = 0; i < kPlaces; ++i) {
    auto place = reads.Enter(cancellation, MonotonicClock::now());
    ASSERT_TRUE(place.ok()) << "every place was given back";
    places.push_back(*std::move(place));
  }
}

}  // namespace
}  // namespace agent_graph::api

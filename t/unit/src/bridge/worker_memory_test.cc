#include "bridge/worker_memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace agent_graph::bridge {
namespace {

constexpr uint64_t kMax = 1000 * 1024;
constexpr uint64_t kHalf = kMax / 2;

// AwaitRoom on a thread of its own.
class Request {
 public:
  Request(WorkerMemory& memory, uint64_t bytes, Deadline deadline = kNoDeadline,
          uint64_t own_bytes = 0)
      : memory_(memory), bytes_(bytes), thread_([this, deadline, own_bytes] {
          status_ = memory_.AwaitRoom(bytes_, cancellation_, deadline, own_bytes);
        }) {}
  struct Input {};
  Request(WorkerMemory& memory, uint64_t bytes, Input)
      : memory_(memory),
        bytes_(bytes),
        thread_([this] { status_ = memory_.AwaitInputRoom(bytes_, cancellation_, kNoDeadline); }) {}
  ~Request() {
    if (thread_.joinable()) thread_.join();
  }

  Status Wait() {
    thread_.join();
    return status_;
  }
  void Cancel() { cancellation_.Cancel(runtime::CancelReason::kClientGone); }
  void GiveBack() { memory_.CountHeld(-static_cast<int64_t>(bytes_)); }

 private:
  WorkerMemory& memory_;
  const uint64_t bytes_;
  runtime::Cancellation cancellation_;
  Status status_;
  std::thread thread_;
};

void AwaitWaiting(const WorkerMemory& memory, size_t count) {
  while (memory.waiting() != count) std::this_thread::yield();
}

TEST(WorkerMemory, KeepsTheTwoSumsApart) {
  WorkerMemory memory(kMax);
  memory.CountBuffered(100);
  memory.CountElsewhere(60);
  memory.CountHeld(7);
  EXPECT_EQ(memory.buffered(), 100u);
  EXPECT_EQ(memory.held(), 7u);
  EXPECT_EQ(memory.in_memory(), 47u);
}

TEST(WorkerMemory, RemembersItsPeak) {
  WorkerMemory memory(kMax);
  memory.CountBuffered(100);
  memory.CountHeld(50);
  memory.CountHeld(-50);
  memory.CountBuffered(-90);
  EXPECT_EQ(memory.TakePeak(), 150u);
  EXPECT_EQ(memory.TakePeak(), 10u);
}

TEST(WorkerMemory, LargeRequestsWaitForRoomInTheirOrder) {
  WorkerMemory memory(kMax);
  Request first(memory, kHalf);
  ASSERT_TRUE(first.Wait().ok());
  Request second(memory, kHalf + 1);
  AwaitWaiting(memory, 1);
  Request third(memory, kHalf);  // would fit
  AwaitWaiting(memory, 2);
  EXPECT_EQ(memory.held(), kHalf);
  first.GiveBack();
  EXPECT_TRUE(second.Wait().ok());
  EXPECT_EQ(memory.waiting(), 1u);
  second.GiveBack();
  EXPECT_TRUE(third.Wait().ok());
  EXPECT_EQ(memory.held(), kHalf);
}

TEST(WorkerMemory, RepliesThatLeaveMakeRoom) {
  WorkerMemory memory(kMax);
  memory.CountHeld(1);
  memory.CountBuffered(kMax);
  Request request(memory, kHalf);
  AwaitWaiting(memory, 1);
  memory.CountBuffered(-static_cast<int64_t>(kHalf) - 1);
  EXPECT_TRUE(request.Wait().ok());
}

TEST(WorkerMemory, RepliesThatNobodyReadsKeepEvenASingleRequestWaiting) {
  WorkerMemory memory(kMax);
  memory.CountReplies(kMax);
  EXPECT_EQ(memory.buffered(), kMax);
  Request request(memory, kHalf);
  AwaitWaiting(memory, 1);
  memory.CountReplies(-static_cast<int64_t>(kHalf));
  EXPECT_TRUE(request.Wait().ok());
}

TEST(WorkerMemory, ASingleRequestDoesNotWaitForBodiesThatWait) {
  WorkerMemory memory(kMax);
  memory.CountBuffered(kMax);
  memory.CountReplies(kMax / 8);
  Request request(memory, kHalf);
  EXPECT_TRUE(request.Wait().ok());
}

TEST(WorkerMemory, RequestsThatHoldSomethingAndWaitForMoreDoNotBlockEachOther) {
  WorkerMemory memory(kMax);
  constexpr uint64_t kOwn = kMax / 4;
  memory.CountHeld(5 * kOwn);
  memory.CountBuffered(kOwn);  // bodies that wait
  Request newcomer(memory, kOwn);
  AwaitWaiting(memory, 1);
  std::vector<std::unique_ptr<Request>> growing;
  for (size_t i = 0; i < 3; ++i) {
    growing.push_back(std::make_unique<Request>(memory, kOwn, kNoDeadline, kOwn));
    AwaitWaiting(memory, 2 + i);
  }
  EXPECT_EQ(memory.held(), 5 * kOwn);
  const auto one_ends = [&] { memory.CountHeld(-2 * static_cast<int64_t>(kOwn)); };
  // No request is at work any more, so the first waiter that holds memory continues. Beside the
  // memory of the others there would be no room for it.
  one_ends();
  AwaitWaiting(memory, 3);
  EXPECT_EQ(memory.held(), 4 * kOwn);
  one_ends();
  AwaitWaiting(memory, 2);
  EXPECT_EQ(memory.held(), 3 * kOwn);
  one_ends();
  EXPECT_TRUE(newcomer.Wait().ok());
  for (const auto& request : growing) EXPECT_TRUE(request->Wait().ok());
  EXPECT_EQ(memory.held(), 3 * kOwn);
}

TEST(WorkerMemory, RequestsThatGrowEndOneAfterTheOther) {
  WorkerMemory memory(kMax);
  constexpr uint64_t kLess = kMax / 16;
  constexpr uint64_t kMore = kMax / 8;
  memory.CountBuffered(kMax);  // there is no room beside what others hold
  memory.CountHeld(kHalf + kLess + kMore);
  Request smaller(memory, kLess, kNoDeadline, kLess);
  AwaitWaiting(memory, 1);
  Request larger(memory, kMore, kNoDeadline, kMore);
  AwaitWaiting(memory, 2);
  // Enough for one of them, but not for both.
  memory.CountHeld(-static_cast<int64_t>(kHalf / 2));
  AwaitWaiting(memory, 1);
  EXPECT_EQ(memory.held(), kHalf / 2 + kLess + 2 * kMore);
  memory.CountHeld(-2 * static_cast<int64_t>(kMore));
  EXPECT_TRUE(larger.Wait().ok());
  EXPECT_TRUE(smaller.Wait().ok());
  EXPECT_EQ(memory.held(), kHalf / 2 + 2 * kLess);
}

TEST(WorkerMemory, BodiesThatAreParsedMakeRoom) {
  WorkerMemory memory(kMax);
  memory.CountHeld(1);
  memory.CountBuffered(kMax);
  Request request(memory, kHalf);
  AwaitWaiting(memory, 1);
  memory.CountElsewhere(kHalf + 1);
  EXPECT_TRUE(request.Wait().ok());
}

TEST(WorkerMemory, TextsOfBodiesLeaveHalfOfTheBoundToTheirHandling) {
  WorkerMemory memory(kMax);
  memory.CountHeld(10);
  Request first(memory, kHalf / 2, Request::Input());
  ASSERT_TRUE(first.Wait().ok());
  Request second(memory, kHalf / 2, Request::Input());
  AwaitWaiting(memory, 1);
  // The waiting body does not keep the first request from getting more memory.
  Request handling(memory, kHalf, kNoDeadline, kHalf / 2);
  EXPECT_TRUE(handling.Wait().ok());
  EXPECT_EQ(memory.waiting(), 1u);
  handling.GiveBack();
  first.GiveBack();
  EXPECT_TRUE(second.Wait().ok());
}

TEST(WorkerMemory, ABodyOfAnySizeIsReadAtLast) {
  WorkerMemory memory(kMax);
  memory.CountHeld(kHalf / 2 + 1);
  Request large(memory, 5 * kMax, Request::Input());
  AwaitWaiting(memory, 1);
  memory.CountHeld(-1);
  EXPECT_TRUE(large.Wait().ok());
}

TEST(WorkerMemory, MessagesHaveRoomWhileFewWait) {
  WorkerMemory memory(kMax);
  EXPECT_TRUE(memory.HasInputRoom());
  memory.CountHeld(kMax);
  memory.CountReplies(kMax);
  EXPECT_TRUE(memory.HasInputRoom()) << "what is at work does not count";
  memory.CountBuffered(kMax / 4);
  EXPECT_FALSE(memory.HasInputRoom());
  memory.CountElsewhere(1);
  EXPECT_TRUE(memory.HasInputRoom());
}

TEST(WorkerMemory, OneThatNeedsTooMuchWaitsForHalf) {
  WorkerMemory memory(kMax);
  memory.CountHeld(10);  // small requests: some are always at work
  Request first(memory, kHalf);
  ASSERT_TRUE(first.Wait().ok());
  Request large(memory, 5 * kMax);
  AwaitWaiting(memory, 1);
  first.GiveBack();
  EXPECT_TRUE(large.Wait().ok());
  Request next(memory, kHalf);
  AwaitWaiting(memory, 1);
  large.GiveBack();
  EXPECT_TRUE(next.Wait().ok());
}

TEST(WorkerMemory, SmallOnesPassLargeOnesAndHaveAReserve) {
  WorkerMemory memory(kMax);
  memory.CountHeld(kMax);
  Request large(memory, kHalf);
  AwaitWaiting(memory, 1);
  constexpr uint64_t kSmall = kMax / 256;
  for (uint64_t i = 0; i < 64; ++i) {
    Request small(memory, kSmall);
    EXPECT_TRUE(small.Wait().ok());
  }
  Request too_many(memory, kSmall);
  AwaitWaiting(memory, 2);
  memory.CountHeld(-static_cast<int64_t>(kSmall));
  EXPECT_TRUE(too_many.Wait().ok());
  memory.CountHeld(-static_cast<int64_t>(kMax));
  EXPECT_TRUE(large.Wait().ok());
}

TEST(WorkerMemory, WaitsEndWithTheRequestAndItsDeadline) {
  WorkerMemory memory(kMax);
  memory.CountHeld(kMax);
  Request gone(memory, kHalf);
  AwaitWaiting(memory, 1);
  gone.Cancel();
  EXPECT_EQ(gone.Wait().code(), StatusCode::kCancelled);
  Request late(memory, kHalf, DeadlineAfter(std::chrono::milliseconds(1)));
  EXPECT_EQ(late.Wait().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(memory.waiting(), 0u);
  EXPECT_EQ(memory.held(), kMax);
}

TEST(WorkerMemory, WhatAWaiterGivesUpGoesToThoseBehindIt) {
  WorkerMemory memory(kMax);
  memory.CountHeld(kHalf);
  Request first(memory, kHalf + 1);
  AwaitWaiting(memory, 1);
  Request second(memory, kHalf);
  AwaitWaiting(memory, 2);
  first.Cancel();
  EXPECT_FALSE(first.Wait().ok());
  EXPECT_TRUE(second.Wait().ok());
}

TEST(WorkerMemory, WhatIsKeptIsGivenUpBeforeMemoryIsScarce) {
  WorkerMemory memory(kMax);
  int calls = 0;
  memory.SetGiveUp([&] {
    ++calls;
    memory.CountKept(-1024);
  });
  memory.CountKept(1024);
  EXPECT_EQ(memory.kept(), 1024u);
  EXPECT_EQ(memory.in_memory(), 0u);
  memory.CountHeld(kHalf - 1024);
  EXPECT_EQ(calls, 0);
  memory.CountHeld(1);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(memory.kept(), 0u);
  memory.CountHeld(kHalf);
  EXPECT_EQ(calls, 1);
}

TEST(WorkerMemory, NoRequestWaitsForWhatIsKept) {
  WorkerMemory memory(kMax);
  memory.SetGiveUp([] {});
  memory.CountKept(kMax);
  Request large(memory, kMax);
  EXPECT_TRUE(large.Wait().ok());
}

TEST(WorkerMemory, GivesNobodyMoreThanThereIs) {
  WorkerMemory memory(kMax);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&memory] {
      const runtime::Cancellation cancellation;
      for (int turn = 0; turn < 200; ++turn) {
        ASSERT_TRUE(memory.AwaitRoom(kMax / 3, cancellation, kNoDeadline).ok());
        EXPECT_LE(memory.held(), kMax);
        memory.CountHeld(-static_cast<int64_t>(kMax / 3));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory.held(), 0u);
}

}  // namespace
}  // namespace agent_graph::bridge

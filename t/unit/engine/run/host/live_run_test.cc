#include "run/host/live_run.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace agent_graph::run {
namespace {

RunStart StartAt(uint64_t index) {
  RunStart start;
  start.thread_number = 1;
  start.lease_epoch = 3;
  start.log_index = index;
  return start;
}

TEST(LiveRun, ShowsThePartialMessageBehindWhatTheFollowerHas) {
  LiveRun run;
  run.Begin(StartAt(10));
  run.AddPiece({.message_id = "m1", .text = "", .reasoning = "think", .node = "A", .step = 2});
  run.AddPiece({.message_id = "m1", .text = "hello", .reasoning = "", .node = "A", .step = 2});
  LiveRun::View all = run.Read("", 0, 0);
  EXPECT_EQ(all.lease_epoch, 3u);
  EXPECT_EQ(all.log_end, 10u);
  ASSERT_TRUE(all.partial);
  EXPECT_EQ(all.partial->message_id, "m1");
  EXPECT_EQ(all.partial->node, "A");
  EXPECT_EQ(all.partial->step, 2);
  EXPECT_EQ(all.partial->reasoning, "think");
  EXPECT_EQ(all.partial->text, "hello");
  LiveRun::View rest = run.Read("m1", 5, 3);
  EXPECT_EQ(rest.partial->reasoning, "");
  EXPECT_EQ(rest.partial->text, "lo");
  EXPECT_EQ(run.Read("m1", 100, 100).partial->text, "");
  EXPECT_EQ(run.Read("other", 5, 3).partial->text, "hello");
}

TEST(LiveRun, AStoredMessageIsNoLongerPartial) {
  LiveRun run;
  run.Begin(StartAt(10));
  run.AddPiece({.message_id = "m1", .text = "hello", .reasoning = "", .node = "A", .step = 1});
  run.SetStored(14);
  LiveRun::View view = run.Read("m1", 0, 0);
  EXPECT_FALSE(view.partial);
  EXPECT_EQ(view.log_end, 14u);
  run.SetStored(0);
  EXPECT_EQ(run.Read("", 0, 0).log_end, 14u);
}

TEST(LiveRun, AnotherMessageReplacesThePartialOne) {
  LiveRun run;
  run.AddPiece({.message_id = "m1", .text = "hello", .reasoning = "", .node = "A", .step = 1});
  run.AddPiece({.message_id = "m2", .text = "bye", .reasoning = "", .node = "B", .step = 2});
  EXPECT_EQ(run.Read("m1", 0, 5).partial->text, "bye");
  EXPECT_EQ(run.partial_bytes(), 3u);
}

// As of a function that writes a text, calls a model and goes on with its text.
TEST(LiveRun, AMessageThatAnotherHasFollowedTakesNoFurtherPieces) {
  LiveRun run;
  const auto add = [&](std::string_view id, std::string_view text) {
    run.AddPiece({.message_id = id, .text = text, .reasoning = "", .node = "A", .step = 1});
  };
  add("m1", "Hi ");
  add("m2", "model");
  add("m1", "and goodbye");
  EXPECT_EQ(run.Read("", 0, 0).partial->message_id, "m2");
  add("m2", "s");
  EXPECT_EQ(run.Read("m2", 0, 5).partial->text, "s");
  run.SetStored(7);
  add("m1", "of the next node");
  EXPECT_EQ(run.Read("", 0, 0).partial->message_id, "m1");
}

TEST(LiveRun, APartialMessageStopsGrowingAtItsLimit) {
  LiveRun run;
  const std::string large(kPartialBytesMax, 'x');
  run.AddPiece({.message_id = "m1", .text = large, .reasoning = "", .node = "A", .step = 1});
  run.AddPiece({.message_id = "m1", .text = "12", .reasoning = "", .node = "A", .step = 1});
  EXPECT_EQ(run.partial_bytes(), kPartialBytesMax);
  run.AddPiece({.message_id = "m2", .text = "12", .reasoning = "", .node = "A", .step = 1});
  EXPECT_EQ(run.partial_bytes(), 2u);
}

TEST(LiveRun, AwaitReturnsAtOnceIfTheVersionIsOld) {
  LiveRun run;
  const uint64_t version = run.Read("", 0, 0).version;
  run.SetStored(1);
  EXPECT_TRUE(run.Await(version, runtime::Cancellation(), kNoDeadline).ok());
}

TEST(LiveRun, AwaitEndsAtTheDeadlineAndByCancellation) {
  LiveRun run;
  const uint64_t version = run.Read("", 0, 0).version;
  EXPECT_EQ(run.Await(version, runtime::Cancellation(), MonotonicClock::now()).code(),
            StatusCode::kDeadlineExceeded);
  const runtime::Cancellation cancelled;
  cancelled.Cancel(runtime::CancelReason::kClientGone);
  EXPECT_EQ(run.Await(version, cancelled, kNoDeadline).code(), StatusCode::kCancelled);
}

// Every follower sees every state that stays, however the threads overlap.
TEST(LiveRun, NoFollowerMissesTheEnd) {
  constexpr int kFollowers = 4;
  constexpr uint64_t kChanges = 2000;
  LiveRun run;
  std::vector<std::thread> followers;
  std::vector<uint64_t> seen(kFollowers);
  for (int i = 0; i < kFollowers; ++i) {
    followers.emplace_back([&run, &last = seen[static_cast<size_t>(i)]] {
      for (;;) {
        const LiveRun::View view = run.Read("", 0, 0);
        last = view.log_end;
        if (view.ended) return;
        ASSERT_TRUE(run.Await(view.version, runtime::Cancellation(), kNoDeadline).ok());
      }
    });
  }
  for (uint64_t i = 1; i <= kChanges; ++i) run.SetStored(i);
  run.End();
  for (std::thread& follower : followers) follower.join();
  for (const uint64_t last : seen) EXPECT_EQ(last, kChanges);
}

}  // namespace
}  // namespace agent_graph::run

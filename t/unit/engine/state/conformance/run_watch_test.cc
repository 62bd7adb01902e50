// The message in progress of an accepted run, for the clients that watch it: published by the
// client that executes the run only while others watch, and never stored.
#include <gmock/gmock.h>

#include <thread>

#include "../run_observer.h"
#include "base/clock.h"
#include "conformance.h"
#include "grants.h"

namespace agent_graph::state {
namespace {

class RunWatchTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    AcceptRunRequest accept;
    accept.begin = RunOn("t", "", "r");
    accept.continued_until_micros = UnixMicros() + int64_t{3600} * 1'000'000;
    const Result<AcceptRunReply> accepted = service().AcceptRun(accept);
    ASSERT_TRUE(accepted.ok()) << accepted.status().ToString();
    observer_.Follow(accepted->run.thread_number);
    worker_ = Connect(grants_.Receiver(), watched_.Receiver());
    Begin();
  }

  void Begin() {
    const GrantedRun granted = grants_.Next();
    const Result<BeginRunReply> begun = worker_->BeginRun(RunOn("t", "", "r"), nullptr);
    ASSERT_TRUE(begun.ok()) << begun.status().ToString();
    begun_ = *begun;
    EXPECT_EQ(granted.lease_epoch, begun_.lease_epoch);
  }
  // Waits until more is known than before.
  WatchRunReply Watch(int64_t wait_ms = kPatience.count()) {
    return observer_.Next(service(), wait_ms);
  }
  PublishPieceReply Publish(const std::string& message_id, const std::string& text,
                            uint64_t begin = 0) {
    return PublishText(*worker_, begun_.lease_epoch, message_id, text, begin);
  }

  Grants grants_;
  Mailbox<RunWatched> watched_;
  Client* worker_ = nullptr;
  BeginRunReply begun_;
  RunObserver observer_;
};

TEST_P(RunWatchTest, NothingIsKeptWhileNobodyWatches) {
  EXPECT_FALSE(Publish("m", "Hel").watched);
  EXPECT_TRUE(watched_.empty());
  EXPECT_FALSE(Watch(0).piece);
}

TEST_P(RunWatchTest, AWatcherGetsThePieces) {
  EXPECT_EQ(Watch().lease_epoch, begun_.lease_epoch);
  const RunWatched told = watched_.Next();
  EXPECT_EQ(told.run_id, "r");
  EXPECT_NE(told.watch, 0u);
  std::thread watcher([this] {
    while (observer_.text != "Hello!") Watch();
  });
  EXPECT_TRUE(Publish("m", "Hel").watched);
  EXPECT_EQ(Publish("m", "lo", 3).text_bytes, 5u);
  EXPECT_EQ(Publish("m", "!", 5).text_bytes, 6u);
  watcher.join();
  EXPECT_EQ(observer_.known.message_id, "m");
  // The event comes once, however often the run is watched.
  EXPECT_TRUE(watched_.empty());
}

TEST_P(RunWatchTest, APieceThatLeavesOutSomethingIsNotTaken) {
  Watch();
  EXPECT_EQ(Publish("m", "lo", 3).text_bytes, 0u);
  EXPECT_EQ(Publish("m", "Hel").text_bytes, 3u);
  EXPECT_EQ(Publish("m", "Hel").text_bytes, 3u);
  EXPECT_EQ(Watch().piece->text, "Hel");
}

TEST_P(RunWatchTest, AWatcherWakesWhenTheLogGrowsAndWhenTheRunEnds) {
  const uint64_t before = Watch().log_end;
  std::thread worker([this] {
    AppendRunRequest append = AppendOf(RunOn("t", "", "r"), begun_);
    append.entries = {{"run_started", "{}", 0}};
    EXPECT_TRUE(worker_->AppendRun(append).ok());
  });
  EXPECT_EQ(Watch().log_end, before + 1);
  worker.join();
  FinishRunRequest finish;
  finish.append = AppendOf(RunOn("t", "", "r"), begun_);
  finish.append.entries = {{"run_finished", "{}", 0}};
  finish.status = "done";
  std::thread end([&] { EXPECT_TRUE(worker_->FinishRun(finish).ok()); });
  EXPECT_TRUE(Watch().ended);
  end.join();
}

TEST_P(RunWatchTest, PiecesOfAnEarlierAttemptAreVoid) {
  Watch();
  Publish("m", "Hel");
  EXPECT_EQ(Watch().piece->text, "Hel");
  const uint64_t first = begun_.lease_epoch;
  ASSERT_TRUE(worker_->HandOverRun("t", "r", 0).ok());
  Begin();
  while (Watch().lease_epoch == first) continue;
  EXPECT_FALSE(Watch(0).piece);
  // The late piece of the first attempt.
  const uint64_t second = std::exchange(begun_.lease_epoch, first);
  EXPECT_FALSE(Publish("m", "lo", 3).watched);
  begun_.lease_epoch = second;
  EXPECT_TRUE(Publish("n", "Hi").watched);
  EXPECT_EQ(Watch().piece->message_id, "n");
}

// With a backend that keeps the run.
class LastingRunWatchTest : public RunWatchTest {};

TEST_P(LastingRunWatchTest, TheWorkerIsToldAgainByTheNextStateServer) {
  Watch();
  const uint64_t before = watched_.Next().watch;
  Restart();
  Watch(0);
  EXPECT_NE(watched_.Next().watch, before);
  EXPECT_TRUE(Publish("m", "Hel").watched);
  EXPECT_EQ(Watch().piece->text, "Hel");
}

TEST_P(RunWatchTest, RunsOfOthersAreNotFound) {
  observer_.known.scope = Scope::Owner("somebody");
  EXPECT_EQ(service().WatchRun(observer_.known, nullptr).status().code(), StatusCode::kNotFound);
  observer_.known.scope = Scope::All();
  ++observer_.known.thread_number;
  EXPECT_EQ(service().WatchRun(observer_.known, nullptr).status().code(), StatusCode::kNotFound);
}

// The next attempt may be granted to the same client.
TEST_P(RunWatchTest, AFencedAttemptDoesNotDropTheNextOne) {
  const BeginRunReply first = begun_;
  ASSERT_TRUE(worker_->HandOverRun("t", "r", 0).ok());
  Begin();
  AppendRunRequest late = AppendOf(RunOn("t", "", "r"), first);
  EXPECT_EQ(worker_->AppendRun(late).status().code(), StatusCode::kFenced);
  worker_->DropConnection();
  // The client still holds the run, so the state server did not grant it again.
  AppendRunRequest append = AppendOf(RunOn("t", "", "r"), begun_);
  append.entries = {{"run_started", "{}", 0}};
  EXPECT_TRUE(worker_->AppendRun(append).ok());
  EXPECT_TRUE(grants_.empty());
}

INSTANTIATE_TEST_SUITE_P(Backends, LastingRunWatchTest, testing::ValuesIn(LastingSetups()),
                         SetupName);
INSTANTIATE_TEST_SUITE_P(Backends, RunWatchTest, testing::ValuesIn(AllSetups()), SetupName);

}  // namespace
}  // namespace agent_graph::state

// The runs that a client holds, by thread, run and attempt: what it still writes for an attempt
// that it has lost concerns no other one.
#include <gtest/gtest.h>

#include "conformance.h"
#include "grants.h"
#include "state/runs.h"
#include "state/service.h"

namespace agent_graph::state {
namespace {

class HeldRunsTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    worker_ = Connect(grants_.Receiver());
  }
  GrantedRun Accept() {
    AcceptRunRequest accept;
    accept.begin = RunOn("t", "", "r");
    accept.request = "request";
    accept.continued_until_micros = UnixMicros() + int64_t{3600} * 1'000'000;
    EXPECT_TRUE(service().AcceptRun(accept).ok());
    return grants_.Next();
  }
  static BeginRunRequest BeginOf(const GrantedRun& granted) {
    BeginRunRequest begin = RunOn(granted.thread_id, "", granted.run_id);
    begin.granted = true;
    begin.granted_epoch = granted.lease_epoch;
    return begin;
  }
  BeginRunReply Begin(const GrantedRun& granted) {
    const Result<BeginRunReply> begun = worker_->BeginRun(BeginOf(granted), nullptr);
    EXPECT_TRUE(begun.ok()) << begun.status().ToString();
    return begun.ok() ? *begun : BeginRunReply();
  }
  // No other worker takes the run, so it comes back.
  GrantedRun HandOver(const GrantedRun& granted) {
    EXPECT_TRUE(worker_->HandOverRun("t", "r", granted.lease_epoch).ok());
    return grants_.Next();
  }
  static AppendRunRequest EntryOf(const GrantedRun& granted) {
    BeginRunReply begun;
    begun.lease_epoch = granted.lease_epoch;
    AppendRunRequest append = AppendOf(RunOn("t", "", "r"), begun);
    append.entries = {{"step", "{}", 0}};
    return append;
  }
  bool IsBusy(const std::string& thread_id) {
    BeginRunRequest run = RunOn(thread_id, "", "other");
    run.enqueue_if_busy = false;
    return service().BeginRun(run, nullptr).status().code() == StatusCode::kBusy;
  }

  Grants grants_;
  Client* worker_ = nullptr;
};

TEST_P(HeldRunsTest, RunsOfTwoThreadsWithOneIdAreTold) {
  const BeginRunRequest kept = RunOn("kept", "", "same");
  const BeginRunRequest lost = RunOn("lost", "", "same");
  ASSERT_TRUE(worker_->BeginRun(kept, nullptr).ok());
  ASSERT_TRUE(worker_->BeginRun(lost, nullptr).ok());
  // The client learns that it has lost one of them; the server does not know yet.
  BeginRunReply of_another;
  of_another.lease_epoch = 99;
  EXPECT_EQ(worker_->AppendRun(AppendOf(lost, of_another)).status().code(), StatusCode::kFenced);
  EXPECT_TRUE(IsBusy("lost"));
  worker_->DropConnection();
  // Waits until the server has received the new connection.
  EXPECT_TRUE(worker_->GetThread(Scope::All(), "kept").ok());
  EXPECT_TRUE(service().BeginRun(RunOn("lost", "", "next"), nullptr).ok());
  EXPECT_TRUE(IsBusy("kept"));
}

TEST_P(HeldRunsTest, ALateHandOverGivesNoOtherAttemptBack) {
  const GrantedRun first = Accept();
  Begin(first);
  const GrantedRun second = HandOver(first);
  ASSERT_GT(second.lease_epoch, first.lease_epoch);
  Begin(second);
  EXPECT_TRUE(worker_->HandOverRun("t", "r", first.lease_epoch).ok());
  EXPECT_TRUE(worker_->AppendRun(EntryOf(second)).ok());
}

TEST_P(HeldRunsTest, AnAttemptThatWasReplacedCannotBegin) {
  const GrantedRun first = Accept();
  const GrantedRun second = HandOver(first);
  const Result<BeginRunReply> late = worker_->BeginRun(BeginOf(first), nullptr);
  EXPECT_EQ(late.status().code(), StatusCode::kFenced);
  // The next attempt still holds its lease, and counts as not begun.
  Begin(second);
  EXPECT_TRUE(worker_->AppendRun(EntryOf(second)).ok());
}

TEST_P(HeldRunsTest, ARunOfADeletedThreadWritesNothingToTheNextOneWithItsIds) {
  const GrantedRun deleted = Accept();
  Begin(deleted);
  ASSERT_TRUE(service().DeleteThread(Scope::All(), "t").ok());
  const GrantedRun next = Accept();
  Begin(next);
  ASSERT_NE(next.lease_epoch, deleted.lease_epoch);
  EXPECT_EQ(worker_->AppendRun(EntryOf(deleted)).status().code(), StatusCode::kFenced);
  FinishRunRequest finish = FinishOf(RunOn("t", "", "r"), {}, {UserMessage("m")});
  finish.append.lease_epoch = deleted.lease_epoch;
  EXPECT_EQ(worker_->FinishRun(finish).code(), StatusCode::kFenced);
  EXPECT_TRUE(worker_->HandOverRun("t", "r", deleted.lease_epoch).ok());
  EXPECT_TRUE(worker_->AppendRun(EntryOf(next)).ok());
  worker_->DropConnection();
  EXPECT_TRUE(worker_->AppendRun(EntryOf(next)).ok()) << "it is still held";
}

INSTANTIATE_TEST_SUITE_P(Backends, HeldRunsTest, testing::ValuesIn(AllSetups()), SetupName);

class LastingHeldRunsTest : public HeldRunsTest {};

TEST_P(LastingHeldRunsTest, ALateAppendDoesNotBeginTheNextAttemptAgain) {
  const GrantedRun first = Accept();
  Begin(first);
  const GrantedRun second = HandOver(first);
  Begin(second);
  EXPECT_EQ(worker_->AppendRun(EntryOf(first)).status().code(), StatusCode::kFenced);
  Restart();
  EXPECT_TRUE(worker_->AppendRun(EntryOf(second)).ok());
  EXPECT_TRUE(grants_.empty());
}

TEST_P(LastingHeldRunsTest, ALateHandOverDoesNotBeginTheNextAttemptAgain) {
  const GrantedRun first = Accept();
  Begin(first);
  const GrantedRun second = HandOver(first);
  Begin(second);
  ASSERT_TRUE(worker_->HandOverRun("t", "r", first.lease_epoch).ok());
  Restart();
  EXPECT_TRUE(worker_->AppendRun(EntryOf(second)).ok());
  EXPECT_TRUE(grants_.empty());
}

INSTANTIATE_TEST_SUITE_P(Backends, LastingHeldRunsTest, testing::ValuesIn(LastingSetups()),
                         SetupName);

}  // namespace
}  // namespace agent_graph::state

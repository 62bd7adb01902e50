// Hosts that find in the rows of a thread what another host has done, before its notice arrives, or
// without it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "host_store.h"
#include "test_database.h"

namespace agent_graph::state {
namespace {

class LostNoticesTest : public postgres::DatabaseTest {
 protected:
  // Run "holder" holds the thread at `holder_`, and "waiting" waits for it at `waiting_`.
  LostNoticesTest() {
    const ReplyRow begun = holder_.Execute(Operation::kBeginRun, RunOn("t", "", "holder")).reply;
    EXPECT_TRUE(pack::FromBytes(begun.body, holding_));  // a new thread
    EXPECT_TRUE(Wait(waiting_).queued);
  }
  static StoreReply Wait(HostStore& host) {
    return host.Execute(Operation::kBeginRun, RunOn("t", "", "waiting"));
  }
  // Its worker sends the request again.
  std::vector<StoreReply> WaitAgain(HostStore& host) {
    host.Add(Operation::kBeginRun, RunOn("t", "", "waiting"), sent_micros_);
    return host.Execute();
  }
  void FinishHolder() {
    const FinishRunRequest finish = FinishOf(RunOn("t", "", "holder"), holding_);
    EXPECT_TRUE(holder_.Execute(Operation::kFinishRun, finish).status.ok());
  }
  static StopRequest StopOf(const std::string& thread_id, const std::string& run_id) {
    StopRequest stop;
    stop.scope = Scope::All();
    stop.thread_id = thread_id;
    stop.run_id = run_id;
    return stop;
  }
  void Stop(const std::string& run_id) {
    const StoreReply stopped = other_.Execute(Operation::kRequestStop, StopOf("t", run_id));
    EXPECT_TRUE(stopped.status.ok()) << stopped.status.ToString();
    StopReply answer;
    EXPECT_TRUE(pack::FromBytes(stopped.reply.body, answer));
    EXPECT_TRUE(answer.running);
  }
  void DeclareDead(const HostStore& host) {
    Run({"UPDATE agent_graph.instance SET dead = true, ended = now() WHERE id = $1",
         {postgres::Value::Uuid(host.instance())}});
  }
  static void ExpectRefused(const std::vector<StoreReply>& replies) {
    ASSERT_EQ(replies.size(), 1u);
    EXPECT_EQ(replies.front().status.code(), StatusCode::kCancelled);
  }

  // True if the notice makes the host cancel a run of its client.
  static bool Cancels(HostStore& host, const HostNotice& notice) {
    EXPECT_TRUE(host.database().Prepare(BatchUse()).ok());
    host.store().OnHostNotice(notice);
    host.Commit();
    return std::ranges::any_of(host.store().TakeNotices(), [](const StoreNotice& sent) {
      return std::holds_alternative<CancelRun>(sent.message);
    });
  }

  HostStore holder_{Options()};
  HostStore waiting_{Options()};
  HostStore other_{Options()};
  BeginRunReply holding_;
  const int64_t sent_micros_ = UnixMicros();  // after this, "waiting" is sent
};

TEST_F(LostNoticesTest, RunsOfADeletedThreadDoNotGoOnWithANewOne) {
  EXPECT_TRUE(
      other_.Execute(Operation::kDeleteThread, ThreadRequest{Scope::All(), "t"}).status.ok());
  other_.RunTurn("t", {UserMessage("m")});
  ExpectRefused(waiting_.Look("t"));
  holder_.Look("t");
  const std::vector<StoreNotice> notices = holder_.store().TakeNotices();
  EXPECT_TRUE(std::ranges::any_of(notices, [](const StoreNotice& notice) {
    const auto* const cancel = std::get_if<CancelRun>(&notice.message);
    return cancel != nullptr && cancel->run_id == "holder";
  }));
  // The thread is free.
  other_.RunTurn("t", {UserMessage("m2")});
}

TEST_F(LostNoticesTest, AWaitingRunIsStopped) {
  Stop("waiting");
  ExpectRefused(waiting_.Look("t"));
  EXPECT_TRUE(waiting_.Look("t").empty());
  FinishHolder();
  other_.RunTurn("t", {UserMessage("m")});
}

TEST_F(LostNoticesTest, AStoppedRunDoesNotKeepTheThread) {
  Stop("waiting");
  FinishHolder();
  other_.RunTurn("t", {UserMessage("m")});
}

TEST_F(LostNoticesTest, ARunWhoseTurnHasComeIsStopped) {
  FinishHolder();
  Stop("waiting");
  ExpectRefused(waiting_.Look("t"));
  other_.RunTurn("t", {UserMessage("m")});
}

// Notices come over a connection and from a table, so one of them may come late.
TEST_F(LostNoticesTest, ANoticeDoesNotCancelALaterRunOfTheSameId) {
  const HostNotice notice{HostNotice::Kind::kCancelRun, holder_.instance(), "u", "r"};
  const BeginRunRequest run = RunOn("u", "", "r");
  BeginRunReply begun;
  EXPECT_TRUE(pack::FromBytes(holder_.Execute(Operation::kBeginRun, run).reply.body, begun));
  StopRequest stop = StopOf("u", "r");
  stop.cancel = true;
  EXPECT_TRUE(other_.Execute(Operation::kRequestStop, stop).status.ok());
  EXPECT_TRUE(Cancels(holder_, notice));
  EXPECT_TRUE(holder_.Execute(Operation::kFinishRun, FinishOf(run, begun)).status.ok());
  EXPECT_TRUE(holder_.Execute(Operation::kBeginRun, run).status.ok());
  EXPECT_FALSE(Cancels(holder_, notice));
}

TEST_F(LostNoticesTest, AnAcceptedRunWhoseTurnHasComeIsStopped) {
  const BeginRunRequest first = RunOn("u", "", "first");
  BeginRunReply begun;
  EXPECT_TRUE(pack::FromBytes(holder_.Execute(Operation::kBeginRun, first).reply.body, begun));
  AcceptRunRequest accept;
  accept.begin = RunOn("u", "", "accepted");
  accept.request = "request";
  EXPECT_TRUE(waiting_.Execute(Operation::kAcceptRun, accept).status.ok());
  EXPECT_TRUE(holder_.Execute(Operation::kBeginRun, RunOn("u", "", "last")).queued);
  EXPECT_TRUE(holder_.Execute(Operation::kFinishRun, FinishOf(first, begun)).status.ok());
  // The run ends at once, because it has a row, and the last one begins.
  holder_.Add(Operation::kRequestStop, StopOf("u", "accepted"));
  const std::vector<StoreReply> replies = holder_.Execute();
  EXPECT_EQ(replies.size(), 2u);
  for (const StoreReply& reply : replies) {
    EXPECT_TRUE(reply.status.ok()) << reply.status.ToString();
  }
  EXPECT_EQ(Run({"SELECT count(*) FROM agent_graph.run_request"})[0].Bigint(0), 0);
  EXPECT_TRUE(waiting_.Look("u").empty());
}

// The run that had the thread is stopped as well, so the thread is soon free, and the host of the
// waiting run finds that before it gets the notice.
TEST_F(LostNoticesTest, AStopOfAllRunsStopsOneWhoseTurnHasCome) {
  Stop("");
  FinishHolder();
  ExpectRefused(waiting_.Look("t"));
  other_.RunTurn("t", {UserMessage("m")});
}

// A host of an older build asks for this.
TEST_F(LostNoticesTest, ANoticeCancelsARunThatWaitsNoMore) {
  FinishHolder();
  const std::vector<StoreReply> begun = waiting_.Look("t");
  ASSERT_EQ(begun.size(), 1u);
  EXPECT_TRUE(begun.front().status.ok());
  EXPECT_TRUE(Cancels(waiting_, {HostNotice::Kind::kStopWaiting, {}, "t", "waiting"}));
}

TEST_F(LostNoticesTest, AStoppedRunIsRefusedIfItsHostComesBackToAFreeThread) {
  Stop("waiting");
  DeclareDead(waiting_);
  FinishHolder();
  other_.RunTurn("t", {UserMessage("m")});
  HostStore again(Options());
  ExpectRefused(WaitAgain(again));
  // Another request may have this id.
  EXPECT_TRUE(Wait(again).status.ok());
}

TEST_F(LostNoticesTest, ARunWhoseTurnHasComeIsStoppedIfItsHostComesBack) {
  FinishHolder();
  Stop("waiting");
  DeclareDead(waiting_);
  other_.TakeOver(waiting_.instance());
  other_.Commit();
  other_.RunTurn("t", {UserMessage("m")});
  HostStore again(Options());
  ExpectRefused(WaitAgain(again));
}

TEST_F(LostNoticesTest, AThreadRemembersItsLatestStops) {
  for (int i = 0; i < 40; ++i) {
    const std::string run_id = Numbered("r", i);
    EXPECT_TRUE(waiting_.Execute(Operation::kBeginRun, RunOn("t", "", run_id)).queued);
    Stop(run_id);
    ExpectRefused(waiting_.Look("t"));
  }
  Stop("waiting");
  FinishHolder();
  HostStore again(Options());
  ExpectRefused(WaitAgain(again));
}

TEST_F(LostNoticesTest, AStoppedRunIsRefusedIfItsHostComesBack) {
  Stop("waiting");
  DeclareDead(waiting_);
  HostStore again(Options());
  EXPECT_EQ(Wait(again).status.code(), StatusCode::kCancelled);
  // Another request may have this id.
  EXPECT_TRUE(Wait(again).queued);
}

TEST_F(LostNoticesTest, ARunWaitsAgainIfItsHostComesBack) {
  DeclareDead(waiting_);
  HostStore again(Options());
  const StoreReply waits = Wait(again);
  EXPECT_TRUE(waits.queued) << waits.status.ToString();
  FinishHolder();
  const std::vector<StoreReply> replies = again.Look("t");
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_TRUE(replies.front().status.ok()) << replies.front().status.ToString();
}

}  // namespace
}  // namespace agent_graph::state

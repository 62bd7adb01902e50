// Two hosts that share a database, and know threads that the other one has changed.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../conformance/grants.h"
#include "../fixture.h"
#include "hosts_fixture.h"

namespace agent_graph::state {
namespace {

// Each host knows the thread from its own last turn, and the other one has changed it since.
TEST_F(HostsTest, TurnsThatAlternateBetweenHostsLoseNothing) {
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    Client& client = i % 3 == 1 ? on_b_ : on_a_;
    const BeginRunRequest run = RunOn("t", "anna");
    const BeginRunReply begun = Begin(client, run);
    EXPECT_EQ(Ids(begun.state.window), ids);
    const Result<AppendRunReply> appended =
        client.AppendRun(AppendOf(run, begun, {UserMessage(Numbered("u", i))}));
    EXPECT_TRUE(appended.ok()) << appended.status().ToString();
    EXPECT_TRUE(client.FinishRun(FinishOf(run, begun, {AssistantMessage(Numbered("a", i))})).ok());
    ids.push_back(Numbered("u", i));
    ids.push_back(Numbered("a", i));
  }
  EXPECT_EQ(Ids(on_b_.GetState(Scope::All(), "t")->window), ids);
  const Result<VerifyReport> report = on_a_.Verify();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->problem_count, 0u) << testing::PrintToString(report->problems);
}

TEST_F(HostsTest, AThreadThatTheOtherHostMadeAgainIsNotTheOneThatIsKnown) {
  RunTurn(on_a_, "t", "anna", {UserMessage("m1")});
  EXPECT_TRUE(on_b_.DeleteThread(Scope::All(), "t").ok());
  RunTurn(on_b_, "t", "bert", {UserMessage("m2")});
  const BeginRunReply begun = Begin(on_a_, RunOn("t", "bert"));
  EXPECT_EQ(begun.state.record.owner, "bert");
  EXPECT_EQ(Ids(begun.state.window), std::vector<std::string>{"m2"});
}

TEST_F(HostsTest, AMessageThatExistsIsNotStoredTwice) {
  RunTurn(on_b_, "t", "", {UserMessage("m1", "first")});
  RunTurn(on_a_, "t", "", {UserMessage("m2")});
  const BeginRunRequest run = RunOn("t");
  const BeginRunReply begun = Begin(on_a_, run);
  // This host has not read which ids the thread has.
  EXPECT_TRUE(on_a_.AppendRun(AppendOf(run, begun, {UserMessage("m1", "again")})).ok());
  EXPECT_TRUE(on_a_.FinishRun(FinishOf(run, begun, {UserMessage("m3")})).ok());
  const Result<ThreadState> state = on_b_.GetState(Scope::All(), "t");
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(Ids(state->window), (std::vector<std::string>{"m1", "m2", "m3"}));
  EXPECT_EQ(state->window[0].json, UserMessage("m1", "first").json);
}

TEST_F(HostsTest, ARunThatBeganAtTheOtherHostMakesTheThreadBusy) {
  RunTurn(on_a_, "t", "", {UserMessage("m1")});
  const BeginRunRequest first = RunOn("t", "", "first");
  Begin(on_b_, first);
  BeginRunRequest second = RunOn("t", "", "second");
  second.enqueue_if_busy = false;
  EXPECT_EQ(on_a_.BeginRun(second, nullptr).status().code(), StatusCode::kBusy);
}

TEST_F(HostsTest, MessagesThatTheOtherHostChangedAreReadAgain) {
  RunTurn(on_a_, "t", "", {UserMessage("m1"), UserMessage("m2")});
  EXPECT_TRUE(on_b_.DeleteMessage(Scope::All(), "t", "m1").ok());
  EXPECT_EQ(Ids(Begin(on_a_, RunOn("t")).state.window), std::vector<std::string>{"m2"});
}

TEST_F(HostsTest, ARunOfAThreadThatTheOtherHostHasDeletedIsOver) {
  Grants grants;
  Client& worker = a_.Connect(grants.Receiver());
  ASSERT_TRUE(worker.AcceptRun(Accepted("t", "r")).ok());
  const GrantedRun granted = grants.Next();
  BeginRunRequest run = RunOn("t", "", "r");
  run.granted = true;
  run.granted_epoch = granted.lease_epoch;
  const BeginRunReply begun = Begin(worker, run);
  EXPECT_TRUE(worker.AppendRun(AppendOf(run, begun, {UserMessage("m1")})).ok());
  EXPECT_TRUE(on_b_.DeleteThread(Scope::All(), "t").ok());
  // The host finds that the thread has gone.
  EXPECT_FALSE(on_a_.RequestStop({Scope::All(), "t", true, {}})->running);
  EXPECT_EQ(worker.FinishRun(FinishOf(run, begun)).code(), StatusCode::kFenced);
  EXPECT_EQ(on_a_.GetState(Scope::All(), "t").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace agent_graph::state

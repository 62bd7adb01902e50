// Two hosts that share a database.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../conformance/grants.h"
#include "../fixture.h"
#include "base/version.h"
#include "hosts_fixture.h"
#include "runtime/cancellation.h"
#include "runtime/signal.h"

namespace agent_graph::state {
namespace {

TEST_F(HostsTest, ATurnOfOneHostContinuesAtTheOther) {
  const BeginRunRequest first = RunOn("t", "anna");
  EXPECT_TRUE(on_a_.FinishRun(FinishOf(first, Begin(on_a_, first), {UserMessage("m1")})).ok());
  const BeginRunRequest second = RunOn("t", "anna");
  const BeginRunReply begun = Begin(on_b_, second);
  EXPECT_EQ(Ids(begun.state.window), std::vector<std::string>{"m1"});
  EXPECT_TRUE(on_b_.FinishRun(FinishOf(second, begun, {UserMessage("m2")})).ok());
  EXPECT_EQ(Ids(on_a_.GetState(Scope::All(), "t")->window), (std::vector<std::string>{"m1", "m2"}));
}

TEST_F(HostsTest, ARunWaitsForTheRunOfTheOtherHost) {
  const BeginRunRequest first = RunOn("t", "", "first");
  const BeginRunReply begun = Begin(on_a_, first);
  runtime::Signal has_begun;
  std::thread waiting([&] {
    const BeginRunRequest second = RunOn("t", "", "second");
    const BeginRunReply granted = Begin(on_b_, second);
    EXPECT_EQ(Ids(granted.state.window), std::vector<std::string>{"m1"});
    EXPECT_GT(granted.lease_epoch, begun.lease_epoch);
    EXPECT_TRUE(on_b_.FinishRun(FinishOf(second, granted)).ok());
  });
  Result<ThreadState> state = on_a_.GetState(Scope::All(), "t");
  while (state.ok() && state->in_flight->queued_runs.empty()) {
    state = on_a_.GetState(Scope::All(), "t");
  }
  EXPECT_EQ(state->in_flight->queued_runs, std::vector<std::string>{"second"});
  EXPECT_TRUE(on_a_.FinishRun(FinishOf(first, begun, {UserMessage("m1")})).ok());
  waiting.join();
}

TEST_F(HostsTest, ARunThatDoesNotWaitIsRefusedWhileTheOtherHostHoldsTheThread) {
  const BeginRunRequest first = RunOn("t");
  Begin(on_a_, first);
  BeginRunRequest second = RunOn("t");
  second.enqueue_if_busy = false;
  EXPECT_EQ(on_b_.BeginRun(second, nullptr).status().code(), StatusCode::kBusy);
}

TEST_F(HostsTest, BothHostsCreateOneThreadAtATime) {
  std::thread other([&] {
    for (int i = 0; i < 50; ++i) {
      const BeginRunRequest run = RunOn(Numbered("t", i), "", Numbered("b", i));
      EXPECT_TRUE(on_b_.FinishRun(FinishOf(run, Begin(on_b_, run))).ok());
    }
  });
  for (int i = 0; i < 50; ++i) {
    const BeginRunRequest run = RunOn(Numbered("t", i), "", Numbered("a", i));
    EXPECT_TRUE(on_a_.FinishRun(FinishOf(run, Begin(on_a_, run))).ok());
  }
  other.join();
  EXPECT_EQ(on_a_.ListThreads(Scope::All(), {})->threads.size(), 50u);
  const Result<VerifyReport> report = on_a_.Verify();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->problem_count, 0u) << testing::PrintToString(report->problems);
}

TEST_F(HostsTest, AChangeFromTheOtherHostSurvivesTheEndOfTheRun) {
  const BeginRunRequest run = RunOn("t");
  const BeginRunReply begun = Begin(on_a_, run);
  PutStateRequest put = PutOn("t", "");
  put.fields_json = R"({"outside":1})";
  const Result<ThreadState> changed = on_b_.PutState(put);
  ASSERT_TRUE(changed.ok()) << changed.status().ToString();
  FinishRunRequest finish = FinishOf(run, begun, {UserMessage("m1")});
  finish.snapshot.fields_json = R"({"inside":2})";
  finish.changed_fields = {"inside"};
  EXPECT_TRUE(on_a_.FinishRun(finish).ok());
  EXPECT_EQ(on_b_.GetState(Scope::All(), "t")->snapshot.fields_json, R"({"outside":1,"inside":2})");
}

TEST_F(HostsTest, AStopFromTheOtherHostCancelsTheRun) {
  runtime::Cancellation cancellation;
  runtime::Signal cancelled;
  const auto registration = cancellation.OnCancel([&] { cancelled.Notify(); });
  const BeginRunRequest run = RunOn("t");
  const Result<BeginRunReply> begun = on_a_.BeginRun(run, &cancellation);
  ASSERT_TRUE(begun.ok());
  StopRequest stop;
  stop.thread_id = "t";
  stop.cancel = true;
  EXPECT_TRUE(on_b_.RequestStop(stop)->running);
  EXPECT_EQ(cancelled.Wait(nullptr, DeadlineAfter(kPatience)), runtime::WakeReason::kNotified);
  EXPECT_TRUE(on_a_.AppendRun(AppendOf(run, *begun))->stop_requested);
}

TEST_F(HostsTest, ADeletionAtTheOtherHostCancelsTheRun) {
  runtime::Cancellation cancellation;
  runtime::Signal cancelled;
  const auto registration = cancellation.OnCancel([&] { cancelled.Notify(); });
  const BeginRunRequest run = RunOn("t");
  const Result<BeginRunReply> begun = on_a_.BeginRun(run, &cancellation);
  ASSERT_TRUE(begun.ok());
  ASSERT_TRUE(on_b_.DeleteThread(Scope::All(), "t").ok());
  EXPECT_EQ(cancelled.Wait(nullptr, DeadlineAfter(kPatience)), runtime::WakeReason::kNotified);
  EXPECT_EQ(on_a_.FinishRun(FinishOf(run, *begun)).code(), StatusCode::kFenced);
}

// The stop does not wait for the host at which the run is queued.
TEST_F(HostsTest, AQueuedRunThatTheOtherHostHasStoppedIsNeverExecuted) {
  Grants grants;
  Client& worker = b_.Connect(grants.Receiver());
  const BeginRunRequest first = RunOn("t", "", "first");
  const BeginRunReply begun = Begin(on_a_, first);
  ASSERT_TRUE(worker.AcceptRun(Accepted("t", "second")).ok());
  ASSERT_TRUE(worker.AcceptRun(Accepted("t", "third")).ok());
  const Result<StopReply> stopped = on_a_.RequestStop({Scope::All(), "t", true, "second"});
  ASSERT_TRUE(stopped.ok());
  EXPECT_TRUE(stopped->running);
  EXPECT_EQ(on_a_.GetRun({Scope::All(), "t", "second"})->state, RunState::kStopped);
  EXPECT_TRUE(on_a_.FinishRun(FinishOf(first, begun)).ok());
  EXPECT_EQ(grants.Next().run_id, "third");
  EXPECT_EQ(on_b_.GetRun({Scope::All(), "t", "second"})->state, RunState::kStopped);
}

TEST_F(HostsTest, AQueuedRunWhoseThreadTheOtherHostHasDeletedIsForgotten) {
  Grants grants;
  Client& worker = b_.Connect(grants.Receiver());
  const BeginRunRequest first = RunOn("t", "", "first");
  Begin(on_a_, first);
  ASSERT_TRUE(worker.AcceptRun(Accepted("t", "second")).ok());
  EXPECT_TRUE(on_a_.DeleteThread(Scope::All(), "t").ok());
  ASSERT_TRUE(worker.AcceptRun(Accepted("t", "third")).ok());
  EXPECT_EQ(grants.Next().run_id, "third");
  EXPECT_EQ(on_b_.GetRun({Scope::All(), "t", "second"}).status().code(), StatusCode::kNotFound);
}

TEST_F(HostsTest, ADeletionFromTheOtherHostFencesTheRun) {
  const BeginRunRequest run = RunOn("t");
  const BeginRunReply begun = Begin(on_a_, run);
  EXPECT_TRUE(on_b_.DeleteThread(Scope::All(), "t").ok());
  EXPECT_EQ(on_a_.AppendRun(AppendOf(run, begun)).status().code(), StatusCode::kFenced);
  // The same if the other host has created the thread again.
  const BeginRunRequest next = RunOn("t");
  Begin(on_b_, next);
  EXPECT_EQ(on_a_.FinishRun(FinishOf(run, begun)).code(), StatusCode::kFenced);
}

TEST_F(HostsTest, ReadersFollowARunOfTheOtherHost) {
  const BeginRunRequest run = RunOn("t", "", "r");
  const BeginRunReply begun = Begin(on_a_, run);
  std::thread reader([&] {
    FollowRunRequest follow;
    follow.thread_id = "t";
    follow.run_id = "r";
    follow.wait_ms = kFollowWaitMsMax;
    const Result<FollowRunReply> reply = on_b_.FollowRun(follow, nullptr);
    ASSERT_TRUE(reply.ok()) << reply.status().ToString();
    EXPECT_EQ(reply->entries.size(), 1u);
  });
  AppendRunRequest append = AppendOf(run, begun);
  append.entries.push_back({"node_started", "{}", 0});
  EXPECT_TRUE(on_a_.AppendRun(append).ok());
  reader.join();
}

TEST_F(HostsTest, MemoriesOfTheOtherHostAreFound) {
  const auto store = [](const std::string& id, const std::string& content) {
    StoreMemoryRequest request;
    request.scope = Scope::Owner("anna");
    request.record.id = id;
    request.record.content = content;
    return request;
  };
  const auto found = [](Client& client) {
    SearchMemoriesRequest search;
    search.scope = Scope::Owner("anna");
    search.query = "tea";
    search.ranking = Ranking::kWords;
    Result<MemoryHits> hits = client.SearchMemories(search);
    EXPECT_TRUE(hits.ok()) << hits.status().ToString();
    std::set<std::string> ids;
    if (!hits.ok()) return ids;
    for (const MemoryHit& hit : hits->hits) ids.insert(hit.memory.id);
    return ids;
  };
  using Names = std::set<std::string>;
  ASSERT_TRUE(on_a_.StoreMemory(store("m1", "green tea")).ok());
  EXPECT_EQ(found(on_a_), Names{"m1"});
  EXPECT_EQ(found(on_b_), Names{"m1"});
  ASSERT_TRUE(on_b_.StoreMemory(store("m2", "black tea")).ok());
  EXPECT_EQ(found(on_a_), (Names{"m1", "m2"}));
  // Ids are unique over all hosts.
  EXPECT_EQ(on_a_.StoreMemory(store("m2", "red tea")).code(), StatusCode::kConflict);
  UpdateMemoryRequest update;
  update.name = {Scope::Owner("anna"), "m1", ""};
  update.content = "coffee";
  ASSERT_TRUE(on_b_.UpdateMemory(update).ok());
  EXPECT_EQ(found(on_a_), Names{"m2"});
  ASSERT_TRUE(on_a_.DeleteMemory({Scope::Owner("anna"), "m2", ""}).ok());
  EXPECT_EQ(found(on_b_), Names{});
}

TEST_F(HostsTest, RemoteToolsAreThoseOfAllHosts) {
  RemoteTool tool;
  tool.node = "tools";
  tool.name = "lookup";
  ASSERT_TRUE(on_a_.ReplaceRemoteTools({"all hosts", {tool}}).ok());
  Result<RemoteTools> tools = on_b_.GetRemoteTools();
  ASSERT_TRUE(tools.ok()) << tools.status().ToString();
  ASSERT_EQ(tools->tools.size(), 1u);
  EXPECT_EQ(tools->tools[0].name, "lookup");
  // Runs of the other host may begin with the previous tools until it has heard of the change.
  const uint64_t version = tools->version;
  for (uint64_t begun = 0; begun != version;) {
    const BeginRunRequest run = RunOn("t");
    const BeginRunReply reply = Begin(on_b_, run);
    begun = reply.remote_tools_version;
    ASSERT_TRUE(on_b_.FinishRun(FinishOf(run, reply)).ok());
  }
  tool.node = "others";
  ASSERT_TRUE(on_b_.ReplaceRemoteTools({"all hosts", {tool}}).ok());
  tools = on_a_.GetRemoteTools();
  ASSERT_TRUE(tools.ok()) << tools.status().ToString();
  EXPECT_EQ(tools->tools.size(), 2u);
  EXPECT_GT(tools->version, version);
}

TEST_F(HostsTest, AnAcceptedRunOfADeadHostContinuesAtTheOther) {
  Grants grants_a;
  Grants grants_b;
  Client& worker = a_.Connect(grants_a.Receiver());
  b_.Connect(grants_b.Receiver());
  ASSERT_TRUE(worker.AcceptRun(Accepted("t", "r")).ok());
  const GrantedRun first = grants_a.Next();
  a_.Kill();
  const GrantedRun second = grants_b.Next();
  EXPECT_EQ(second.run_id, "r");
  EXPECT_EQ(second.attempt, 2u);
  EXPECT_GT(second.lease_epoch, first.lease_epoch);
}

TEST_F(HostsTest, TheThreadOfARunThatDiedWithItsHostIsFree) {
  const BeginRunRequest first = RunOn("t", "", "first");
  Begin(on_a_, first);
  a_.Kill();
  const BeginRunRequest second = RunOn("t", "", "second");
  EXPECT_TRUE(on_b_.FinishRun(FinishOf(second, Begin(on_b_, second))).ok());
}

TEST_F(HostsTest, ALockOfAnotherTransactionDelaysOnlyTheBatchThatWaitsForIt) {
  RunTurn(on_a_, "t", "", {UserMessage("m1")});
  // Holds the thread's row for longer than lock_timeout, until the server ends the transaction.
  postgres::Connection other({.url = url_});
  other.Begin();
  ASSERT_TRUE(other.Execute({"SELECT 1 FROM agent_graph.lease FOR UPDATE"}).ok());
  RunTurn(on_a_, "t", "", {UserMessage("m2")});
  EXPECT_EQ(Ids(on_b_.GetState(Scope::All(), "t")->window), (std::vector<std::string>{"m1", "m2"}));
  // The host's executor was not replaced: its clients are still connected to it.
  RunTurn(on_a_, "t", "", {UserMessage("m3")});
  other.Rollback();
}

TEST_F(HostsTest, TheTableOfInstancesShowsTheVersionOfEachHost) {
  postgres::Connection connection({.url = url_});
  const Result<postgres::Rows> versions =
      connection.Execute({"SELECT version FROM agent_graph.instance"});
  ASSERT_TRUE(versions.ok()) << versions.status().ToString();
  ASSERT_EQ(versions->size(), 2u);
  for (size_t host = 0; host < versions->size(); ++host) {
    EXPECT_EQ((*versions)[host].Text(0), kVersion);
  }
}

}  // namespace
}  // namespace agent_graph::state

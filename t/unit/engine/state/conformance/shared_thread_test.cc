// A thread that is used by more than its run: external changes during a run, waiting runs, and runs
// with the same id.
#include <gmock/gmock.h>

#include <thread>

#include "agent_graph/json.h"
#include "conformance.h"
#include "runtime/runtime.h"
#include "state/limits.h"
#include "state/requests.h"
#include "state/rules/stored_json.h"
#include "state/service.h"

namespace agent_graph::state {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SharedThreadTest : public ConformanceTest {
 protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    other_ = Connect();
  }

  BeginRunReply BeginRun(const BeginRunRequest& run) {
    Result<BeginRunReply> begun = client_->BeginRun(run, nullptr);
    EXPECT_TRUE(begun.ok()) << begun.status().ToString();
    return begun.ok() ? *begun : BeginRunReply();
  }
  json Fields() { return json::parse(StateOf("t").snapshot.fields_json); }
  void Put(const std::string& fields_json, const std::optional<std::string>& summary = {}) {
    PutStateRequest put = PutOn("t", "");
    put.fields_json = fields_json;
    put.summary_present = summary.has_value();
    put.summary = summary;
    ASSERT_TRUE(other_->PutState(put).ok());
  }

  Client* other_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(All, SharedThreadTest, testing::ValuesIn(AllSetups()), SetupName);

class SharedThreadTakeover : public SharedThreadTest {};
INSTANTIATE_TEST_SUITE_P(All, SharedThreadTakeover, testing::ValuesIn(LastingSetups()), SetupName);

TEST_P(SharedThreadTest, WhatOthersPutDuringARunOutlivesIt) {
  Put(R"({"a":1,"b":1,"gone":1})", "before");
  BeginRunRequest run = RunOn("t");
  FinishRunRequest finish = FinishOf(run, BeginRun(run));
  Put(R"({"a":2,"c":{"d":3},"gone":null})", "meanwhile");
  finish.snapshot.fields_json = R"({"a":1,"b":5,"gone":1,"own":[]})";
  finish.snapshot.summary = "before";
  finish.changed_fields = {"b", "own"};
  ASSERT_TRUE(client_->FinishRun(finish).ok());
  EXPECT_EQ(Fields(), json::parse(R"({"a":2,"b":5,"c":{"d":3},"own":[]})"));
  EXPECT_EQ(StateOf("t").snapshot.summary, "meanwhile");
  EXPECT_EQ(StateOf("t").snapshot.execution_json, finish.snapshot.execution_json);
}

TEST_P(SharedThreadTest, WhatTheRunChangedIsWrittenOverIt) {
  Put(R"({"a":1})");
  BeginRunRequest run = RunOn("t");
  FinishRunRequest finish = FinishOf(run, BeginRun(run));
  Put(R"({"a":2})", "meanwhile");
  finish.snapshot.fields_json = R"({"a":3})";
  finish.snapshot.summary = "the run's";
  finish.changed_fields = {"a"};
  finish.summary_changed = true;
  ASSERT_TRUE(client_->FinishRun(finish).ok());
  EXPECT_EQ(Fields(), json::parse(R"({"a":3})"));
  EXPECT_EQ(StateOf("t").snapshot.summary, "the run's");
}

TEST_P(SharedThreadTest, AStateClearedDuringARunStaysCleared) {
  Put(R"({"a":1,"b":1})", "before");
  BeginRunRequest run = RunOn("t");
  FinishRunRequest finish = FinishOf(run, BeginRun(run));
  ASSERT_TRUE(other_->ClearState(Scope::All(), "t").ok());
  finish.snapshot.fields_json = R"({"a":1,"b":2})";
  finish.snapshot.summary = "before";
  finish.changed_fields = {"b"};
  ASSERT_TRUE(client_->FinishRun(finish).ok());
  EXPECT_EQ(Fields(), json::parse(R"({"b":2})"));
  EXPECT_FALSE(StateOf("t").snapshot.summary);
}

TEST_P(SharedThreadTakeover, KeepsThatTheStateWasChanged) {
  Put(R"({"a":1})");
  BeginRunRequest run = RunOn("t");
  FinishRunRequest finish = FinishOf(run, BeginRun(run));
  Put(R"({"a":2})");
  Restart();
  finish.snapshot.fields_json = R"({"a":1})";
  ASSERT_TRUE(client_->FinishRun(finish).ok());
  EXPECT_EQ(Fields(), json::parse(R"({"a":2})"));
}

TEST_P(SharedThreadTest, ARunThatCouldNotReadTheStateLeavesItAsItIs) {
  Put(R"({"a":1})", "before");
  const Snapshot before = StateOf("t").snapshot;
  BeginRunRequest run = RunOn("t");
  FinishRunRequest finish = FinishOf(run, BeginRun(run));
  finish.state_unread = true;
  ASSERT_TRUE(client_->FinishRun(finish).ok());
  EXPECT_EQ(StateOf("t").snapshot.fields_json, before.fields_json);
  EXPECT_EQ(StateOf("t").snapshot.summary, "before");
  EXPECT_FALSE(StateOf("t").in_flight);
}

TEST_P(SharedThreadTest, OnlyWhatTheRunHasSeenLeavesTheWindow) {
  RunTurn(*client_, "t", "", {UserMessage("u1"), AssistantMessage("a1"), UserMessage("u2")});
  BeginRunRequest run = RunOn("t");
  const BeginRunReply begun = BeginRun(run);
  ASSERT_TRUE(other_->AppendMessages(MessagesOn("t", "", {UserMessage("posted")})).ok());
  ASSERT_TRUE(client_->AppendRun(AppendOf(run, begun, {AssistantMessage("own")})).ok());
  ASSERT_TRUE(other_->DeleteMessage(Scope::All(), "t", "u2").ok());
  FinishRunRequest finish = FinishOf(run, begun, {AssistantMessage("last")});
  finish.forgotten = {begun.state.window[1].sequence, {"own"}};
  ASSERT_TRUE(client_->FinishRun(finish).ok());
  EXPECT_THAT(Ids(StateOf("t").window), ElementsAre("posted", "last"));
  EXPECT_EQ(client_->ListMessages(Scope::All(), "t", {})->messages.size(), 5u);
}

TEST_P(SharedThreadTest, ARunIdIsTakenWhileItsRunIsInFlight) {
  BeginRunRequest run = RunOn("t");
  const BeginRunReply begun = BeginRun(run);
  EXPECT_EQ(client_->BeginRun(run, nullptr).status().code(), StatusCode::kConflict);
  EXPECT_EQ(other_->BeginRun(run, nullptr).status().code(), StatusCode::kConflict);
  // The run that already has the id is not affected.
  client_->DropConnection();
  EXPECT_TRUE(client_->AppendRun(AppendOf(run, begun)).ok());
  BeginRunRequest elsewhere = run;
  elsewhere.thread_id = "another thread";
  EXPECT_TRUE(client_->FinishRun(FinishOf(elsewhere, BeginRun(elsewhere))).ok());
  ASSERT_TRUE(client_->FinishRun(FinishOf(run, begun)).ok());
  EXPECT_EQ(BeginRun(run).lease_epoch, begun.lease_epoch + 1);
}

TEST_P(SharedThreadTest, ARunIdIsTakenWhileItsRunIsQueued) {
  BeginRunRequest first = RunOn("t");
  FinishRunRequest finish = FinishOf(first, BeginRun(first));
  BeginRunRequest queued = RunOn("t");
  std::thread waiting([&] { EXPECT_TRUE(client_->BeginRun(queued, nullptr).ok()); });
  AwaitQueue({queued.run_id});
  EXPECT_EQ(client_->BeginRun(queued, nullptr).status().code(), StatusCode::kConflict);
  EXPECT_EQ(other_->BeginRun(queued, nullptr).status().code(), StatusCode::kConflict);
  EXPECT_TRUE(client_->FinishRun(finish).ok());
  waiting.join();
}

TEST_P(SharedThreadTest, QueuedRunsAreShownAndStoppedOneByOne) {
  BeginRunRequest first = RunOn("t");
  FinishRunRequest finish = FinishOf(first, BeginRun(first));
  std::vector<BeginRunRequest> queued;
  std::vector<std::thread> waiting;
  std::vector<std::string> ids;
  std::vector<StatusCode> ends(3, StatusCode::kInternal);
  for (size_t i = 0; i < ends.size(); ++i) {
    const BeginRunRequest run = RunOn("t");
    ids.push_back(run.run_id);
    waiting.emplace_back([this, run, &end = ends[i]] {
      Result<BeginRunReply> begun = client_->BeginRun(run, nullptr);
      end = begun.status().code();
      if (!begun.ok()) return;
      EXPECT_TRUE(client_->FinishRun(FinishOf(run, *begun)).ok());
    });
    AwaitQueue(ids);
  }
  Result<StopReply> stop = other_->RequestStop({Scope::All(), "t", false, ids[1]});
  ASSERT_TRUE(stop.ok());
  EXPECT_TRUE(stop->running);
  EXPECT_EQ(stop->run_id, ids[1]);
  waiting[1].join();
  EXPECT_EQ(ends[1], StatusCode::kCancelled);
  AwaitQueue({ids[0], ids[2]});
  EXPECT_FALSE(StateOf("t").in_flight->stop_requested);

  EXPECT_FALSE(other_->RequestStop({Scope::All(), "t", true, "unknown"})->running);
  EXPECT_FALSE(other_->RequestStop({Scope::Owner("bob"), "t", true, ids[0]})->running);
  stop = other_->RequestStop({Scope::All(), "t", false, first.run_id});
  EXPECT_EQ(stop->run_id, first.run_id);
  EXPECT_TRUE(StateOf("t").in_flight->stop_requested);
  AwaitQueue({ids[0], ids[2]});

  EXPECT_TRUE(client_->FinishRun(finish).ok());
  waiting[0].join();
  waiting[2].join();
  EXPECT_THAT(ends, ElementsAre(StatusCode::kOk, StatusCode::kCancelled, StatusCode::kOk));
  EXPECT_FALSE(StateOf("t").in_flight);
}

TEST_P(SharedThreadTest, ARunAddsToTheMetadataOfOthers) {
  AppendMessagesRequest others = MessagesOn("t", "", {});
  others.metadata_json = R"({"kept":1,"handle":"old"})";
  ASSERT_TRUE(other_->AppendMessages(others).ok());
  const BeginRunRequest run = RunOn("t");
  AppendRunRequest append = AppendOf(run, BeginRun(run));
  append.metadata_json = R"({"handle":"new"})";
  ASSERT_TRUE(client_->AppendRun(append).ok());
  EXPECT_EQ(json::parse(StateOf("t").record.metadata_json), json({{"kept", 1}, {"handle", "new"}}));
}

TEST_P(SharedThreadTest, MetadataOfARunBringsNoDeletedThreadBack) {
  const BeginRunRequest run = RunOn("t");
  AppendRunRequest append = AppendOf(run, BeginRun(run));
  append.metadata_json = R"({"handle":"h"})";
  ASSERT_TRUE(other_->DeleteThread(Scope::All(), "t").ok());
  EXPECT_EQ(client_->AppendRun(append).status().code(), StatusCode::kFenced);
  EXPECT_EQ(client_->GetThread(Scope::All(), "t").status().code(), StatusCode::kNotFound);
}

TEST_P(SharedThreadTest, AThreadAtItsBoundsIsLoaded) {
  const auto object_of = [](size_t bytes) {
    return R"({"x":")" + std::string(bytes - 8, 'x') + R"("})";
  };
  BeginRunRequest run = RunOn("t");
  FinishRunRequest finish = FinishOf(run, BeginRun(run));
  // State that others set during the run, in addition to the maximum that the run itself may store.
  PutStateRequest put = PutOn("t", "");
  put.fields_json = object_of(kThreadJsonBytesMax);
  ASSERT_TRUE(other_->PutState(put).ok());
  finish.snapshot.fields_json = R"({"own":")" + std::string(kFieldsBytesMax - 10, 'x') + R"("})";
  finish.snapshot.summary = std::string(kSummaryBytesMax, 's');
  finish.snapshot.execution_json = object_of(kInterruptBytesMax);
  finish.changed_fields = {"own"};
  finish.summary_changed = true;
  ASSERT_TRUE(client_->FinishRun(finish).ok());
  AppendMessagesRequest append;
  append.thread_id = "t";
  append.messages = {UserMessage("big0", std::string(kWindowBytesMax / 4 - 200, 'x'))};
  append.metadata_json = object_of(kThreadJsonBytesMax);
  for (int i = 0; i < 4; ++i) {
    append.messages.front().id = Numbered("big", i);
    ASSERT_TRUE(other_->AppendMessages(append).ok());
  }
  EXPECT_EQ(StateOf("t").window.size(), 4u);
  run = RunOn("t");
  const BeginRunReply begun = BeginRun(run);
  EXPECT_EQ(begun.state.snapshot.fields_json.size(), kFieldsBytesMax + kThreadJsonBytesMax - 1);
  ASSERT_TRUE(client_->FinishRun(FinishOf(run, begun)).ok());
}

TEST_P(SharedThreadTest, ALongerSummaryIsNotTaken) {
  PutStateRequest put = PutOn("t", "");
  put.summary_present = true;
  put.summary = std::string(kSummaryBytesMax + 1, 's');
  const Status refused = other_->PutState(put).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(refused.message().starts_with("context_summary: ")) << refused.message();
}

}  // namespace
}  // namespace agent_graph::state

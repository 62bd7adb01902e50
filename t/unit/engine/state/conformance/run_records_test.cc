// Records and logs of runs: who may read them, pages of them, and readers that wait for entries.
#include <gmock/gmock.h>

#include <thread>

#include "accepted_runs_fixture.h"

namespace agent_graph::state {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class RunRecordsTest : public AcceptedRunsTest {};

TEST_P(RunRecordsTest, ARunThatWasStoppedInTheQueueHasNoEntries) {
  Accept(RequestOn("t", "r1"));
  Accept(RequestOn("t", "r2"));
  ASSERT_TRUE(service().RequestStop({Scope::All(), "t", true, "r2"}).ok());
  Grants grants;
  Client* worker = Connect(grants.Receiver());
  const GrantedRun granted = grants.Next();
  Finish(*worker, granted, Begin(*worker, granted));
  const Result<FollowRunReply> log = Follow("t", "r2");
  ASSERT_TRUE(log.ok());
  EXPECT_THAT(Kinds(*log), IsEmpty()) << "those of r1";
  EXPECT_TRUE(log->complete);
}

TEST_P(RunRecordsTest, OtherUsersFindNoRun) {
  Accept(RequestOn("t", "r1", "ada"));
  const Scope bob = Scope::Owner("bob");
  EXPECT_EQ(service().GetRun({bob, "t", "r1"}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(service().ListRuns({bob, "t", {}, 10, ""}).status().code(), StatusCode::kNotFound);
  FollowRunRequest follow;
  follow.scope = bob;
  follow.thread_id = "t";
  follow.run_id = "r1";
  EXPECT_EQ(service().FollowRun(follow, nullptr).status().code(), StatusCode::kNotFound);
}

TEST_P(RunRecordsTest, RunsAreListedNewestFirstInPages) {
  for (const std::string run_id : {"r1", "r2", "r3"}) {
    Result<BeginRunReply> begun = service().BeginRun(RunOn("t", "", run_id), nullptr);
    ASSERT_TRUE(begun.ok());
    FinishRunRequest finish;
    finish.append = AppendOf(RunOn("t", "", run_id), *begun);
    finish.status = run_id == "r2" ? "error" : "done";
    finish.reason = run_id == "r2" ? "MODEL" : "";
    ASSERT_TRUE(service().FinishRun(finish).ok());
  }
  std::vector<std::string> ids;
  std::string cursor;
  do {
    Result<RunPage> page = service().ListRuns({Scope::All(), "t", {}, 2, cursor});
    ASSERT_TRUE(page.ok());
    for (const RunRecord& run : page->runs) ids.push_back(run.run_id);
    cursor = page->next_cursor;
  } while (!cursor.empty());
  EXPECT_THAT(ids, ElementsAre("r3", "r2", "r1"));
  Result<RunPage> failed = service().ListRuns({Scope::All(), "t", RunState::kError, 10, ""});
  ASSERT_TRUE(failed.ok());
  ASSERT_THAT(failed->runs, SizeIs(1));
  EXPECT_EQ(failed->runs[0].reason, "MODEL");
  EXPECT_EQ(service().ListRuns({Scope::All(), "t", {}, 2, "x"}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_P(RunRecordsTest, AnIdThatIsUsedAgainNamesTheRunInFlight) {
  const BeginRunRequest run = RunOn("t", "", "r1");
  Result<BeginRunReply> begun = service().BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  ASSERT_TRUE(service().FinishRun(FinishOf(run, *begun)).ok());
  EXPECT_EQ(Run("t", "r1").state, RunState::kDone);
  begun = service().BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok()) << begun.status().ToString();
  EXPECT_EQ(Run("t", "r1").state, RunState::kRunning);
  EXPECT_EQ(Run("t", "r1").log_begin, begun->log_index);
  const Result<RunPage> page = service().ListRuns({Scope::All(), "t", {}, 10, ""});
  ASSERT_TRUE(page.ok());
  ASSERT_THAT(page->runs, SizeIs(1));
  EXPECT_EQ(page->runs.front().state, RunState::kRunning);
  ASSERT_TRUE(service().FinishRun(FinishOf(run, *begun)).ok());
  EXPECT_EQ(Run("t", "r1").state, RunState::kDone);
}

TEST_P(RunRecordsTest, AFollowerWaitsForEntriesAndForTheEnd) {
  Grants grants;
  Client* worker = Connect(grants.Receiver());
  Accept(RequestOn("t", "r1"));
  const GrantedRun granted = grants.Next();
  const BeginRunReply begun = Begin(*worker, granted);
  Result<FollowRunReply> first = Status(StatusCode::kInternal, "not read");
  std::thread reader([&] { first = Follow("t", "r1", 0, kFollowWaitMsMax); });
  ASSERT_TRUE(worker->AppendRun(Append(granted, begun, {{"run_started", "{}", 0}})).ok());
  reader.join();
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_THAT(Kinds(*first), ElementsAre("run_started"));
  EXPECT_FALSE(first->complete);
  const uint64_t next = first->entries.back().index + 1;
  Result<FollowRunReply> last = Status(StatusCode::kInternal, "not read");
  std::thread waiting([&] { last = Follow("t", "r1", next, kFollowWaitMsMax); });
  Finish(*worker, granted, begun);
  waiting.join();
  ASSERT_TRUE(last.ok());
  EXPECT_THAT(Kinds(*last), ElementsAre("run_finished"));
  EXPECT_TRUE(last->complete);
}

TEST_P(RunRecordsTest, AFollowersWaitEnds) {
  Accept(RequestOn("t", "r1"));
  const Result<FollowRunReply> nothing = Follow("t", "r1", 0, 10);
  ASSERT_TRUE(nothing.ok()) << nothing.status().ToString();
  EXPECT_THAT(nothing->entries, IsEmpty());
  EXPECT_FALSE(nothing->complete);
}

INSTANTIATE_TEST_SUITE_P(Backends, RunRecordsTest, testing::ValuesIn(AllSetups()), SetupName);

}  // namespace
}  // namespace agent_graph::state

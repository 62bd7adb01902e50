// RunFollower: what a reader of a stored run receives, from any cursor on.
#include "run_follower_fixture.h"

namespace agent_graph::api {
namespace {

TEST_F(RunFollowerTest, ReadsAFinishedRunAtOnce) {
  AddWholeRun();
  Lines lines;
  EXPECT_EQ(Follow(lines), RunFollower::Place::kFound);
  EXPECT_TRUE(last_.ok());
  ASSERT_EQ(lines.received.size(), 3u);
  EXPECT_EQ(lines.Texts(false), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(lines.received[0].chunk["metadata"]["step"], 1);
  EXPECT_EQ(lines.received[0].chunk["metadata"]["cursor"], lines.received[0].cursor);
  EXPECT_EQ(lines.received[0].chunk["timestamp"], 1.5);
  EXPECT_TRUE(lines.received[2].IsDone());
  EXPECT_EQ(lines.received[2].chunk["metadata"]["thread_name"], "A name");
}

TEST_F(RunFollowerTest, EveryCursorLeadsToTheRest) {
  AddWholeRun();
  Lines all;
  Follow(all);
  for (size_t have = 1; have <= all.received.size(); ++have) {
    Lines rest;
    const auto place = Follow(rest, all.received[have - 1].cursor);
    if (have == all.received.size()) {
      EXPECT_EQ(place, RunFollower::Place::kBehindEnd);
      continue;
    }
    ASSERT_EQ(rest.received.size(), all.received.size() - have);
    EXPECT_EQ(rest.received[0].chunk, all.received[have].chunk);
  }
}

// Each reply of the state server has one entry; a cursor still leads to all that follows it.
TEST_F(RunFollowerTest, EveryCursorLeadsToTheRestOfLargeEntries) {
  page_entries_max_ = 1;
  AddWholeRun();
  Lines all;
  Follow(all);
  for (size_t have = 1; have < all.received.size(); ++have) {
    Lines rest;
    ASSERT_EQ(Follow(rest, all.received[have - 1].cursor), RunFollower::Place::kFound);
    ASSERT_EQ(rest.received.size(), all.received.size() - have);
    EXPECT_EQ(rest.received[0].chunk, all.received[have].chunk);
  }
  Lines none;
  EXPECT_EQ(Follow(none, all.received.back().cursor), RunFollower::Place::kBehindEnd);
}

TEST_F(RunFollowerTest, CursorsOfOthersAndOfWhatWasCutAreGone) {
  AddWholeRun();
  Lines lines;
  EXPECT_EQ(Follow(lines, run::CursorText({kThreadNumber + 1, 1, kLogBegin + 1, 0, 0})),
            RunFollower::Place::kOtherThread);
  kept_from_ = kLogBegin + 3;
  EXPECT_EQ(Follow(lines, run::CursorText({kThreadNumber, 1, kLogBegin + 2, 0, 0})),
            RunFollower::Place::kCutAway);
  EXPECT_EQ(Follow(lines), RunFollower::Place::kCutAway);
  EXPECT_TRUE(lines.received.empty());
}

TEST_F(RunFollowerTest, CursorsFromBeforeARestoreAreGone) {
  AddWholeRun();
  history_ = 0x1234'5678'9abc'def0;
  Lines before;
  ASSERT_EQ(Follow(before), RunFollower::Place::kFound);
  const std::string cursor = before.received.front().cursor;
  Lines same;
  EXPECT_EQ(Follow(same, cursor), RunFollower::Place::kFound);
  history_ = 0x0fed'cba9'8765'4321;
  Lines restored;
  EXPECT_EQ(Follow(restored, cursor), RunFollower::Place::kOtherThread);
}

TEST_F(RunFollowerTest, ALostRunEndsWithAnErrorAndDone) {
  Add(run::entry::NodeStarted{.node = "MAIN", .step = 1});
  Add(run::entry::RunFinished{
      .run_id = "r", .status = run::RunStatus::kError, .reason = "worker_lost"});
  record_.state = state::RunState::kError;
  Lines lines;
  Follow(lines);
  ASSERT_EQ(lines.received.size(), 2u);
  EXPECT_EQ(lines.received[0].event, "error");
  EXPECT_EQ(lines.received[0].chunk["data"]["code"], "SERVICE_UNAVAILABLE");
  // A reader that was disconnected after the error still gets the end.
  Lines rest;
  EXPECT_EQ(Follow(rest, lines.received[0].cursor), RunFollower::Place::kFound);
  ASSERT_EQ(rest.received.size(), 1u);
  EXPECT_TRUE(rest.received[0].IsDone());
}

TEST_F(RunFollowerTest, GoesAtItsTimeWhenTheWorkerLeaves) {
  Add(run::entry::NodeStarted{.node = "MAIN", .step = 1});
  const std::chrono::milliseconds left(state::kFollowWaitMsMax / 2);
  Deadline leave = DeadlineAfter(left);
  leave_time_ = [&] { return leave; };
  std::vector<std::chrono::milliseconds> waits;
  ON_CALL(state_, FollowRun).WillByDefault([&](const auto& follow, const auto*) {
    if (follow.wait_ms > 0) {
      waits.emplace_back(follow.wait_ms);
      leave = MonotonicClock::now();
    }
    return Read(follow);
  });
  Lines lines;
  Follow(lines);
  EXPECT_EQ(last_.code(), StatusCode::kCancelled);
  EXPECT_FALSE(lines.cancellation.cancelled());
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_LE(waits[0], left) << "the heartbeat would be later";
}

TEST_F(RunFollowerTest, ReadersOfARunOfTheLeavingWorkerStay) {
  Add(run::entry::NodeStarted{.node = "MAIN", .step = 1});
  BeginLive();
  Piece("m1", "Hello");
  leave_time_ = [] { return MonotonicClock::now(); };
  Lines lines;
  lines.on_line = [&](const Received&) {
    if (lines.received.size() > 1) return;
    AddMessage("m1", "Hello");
    End();
    live_->SetStored(log_.back().index + 1);
  };
  Follow(lines);
  EXPECT_TRUE(last_.ok()) << last_.ToString();
  EXPECT_TRUE(lines.received.back().IsDone());
}

// A power cut took entries that a reader has; the next attempt used their indexes.
TEST_F(RunFollowerTest, EntriesThatWereLostAreReplaced) {
  record_.attempt = 2;
  Add(run::entry::NodeStarted{.node = "MAIN", .step = 1}, 1);
  AddMessage("m1", "one", 1);
  AddMessage("n2", "another two", 2);
  AddMessage("n3", "another three", 2);
  End(state::RunState::kDone, 2);
  Lines lines;
  // It has m1, m2 and m3 of the first attempt.
  ASSERT_EQ(Follow(lines, run::CursorText({kThreadNumber, 1, kLogBegin + 4, 0, 0})),
            RunFollower::Place::kFound);
  ASSERT_EQ(lines.received.size(), 4u);
  EXPECT_EQ(lines.received[0].chunk["data"]["status"], "retrying");
  EXPECT_EQ(lines.Texts(false), (std::vector<std::string>{"another two", "another three"}));
}

TEST_F(RunFollowerTest, SendsHeartbeatsWhileNothingHappens) {
  options_.heartbeat = std::chrono::milliseconds(1);
  Lines lines;
  lines.on_heartbeat = [&] {
    if (lines.heartbeats == 3) AddWholeRun();
  };
  Follow(lines);
  EXPECT_GE(lines.heartbeats, 3);
  EXPECT_TRUE(lines.received.back().IsDone());
}

TEST_F(RunFollowerTest, ReadsAgainWhenTheStateDoesNotAnswer) {
  AddWholeRun();
  Lines lines;
  RunFollower follower = Follower(lines);
  ASSERT_TRUE(follower.Open(std::nullopt).ok());
  int failures = 0;
  ON_CALL(state_, FollowRun)
      .WillByDefault([&](const auto& follow, const auto*) -> Result<state::FollowRunReply> {
        if (++failures <= 3) return Unavailable("the state server is away");
        return Read(follow);
      });
  EXPECT_TRUE(follower.Follow(lines).ok());
  EXPECT_TRUE(lines.received.back().IsDone());
}

TEST_F(RunFollowerTest, GivesUpAStateThatStaysAway) {
  options_.retry = std::chrono::milliseconds(0);
  AddWholeRun();
  for (const StatusCode code : {StatusCode::kUnavailable, StatusCode::kResourceExhausted}) {
    Lines lines;
    RunFollower follower = Follower(lines);
    ASSERT_TRUE(follower.Open(std::nullopt).ok());
    int reads = 0;
    EXPECT_CALL(state_, FollowRun).WillRepeatedly([&](const auto&, const auto*) {
      ++reads;
      return Result<state::FollowRunReply>(Status(code, "away"));
    });
    EXPECT_EQ(follower.Follow(lines).code(), code);
    EXPECT_EQ(reads, 31) << "one, and 30 retries";
    testing::Mock::VerifyAndClearExpectations(&state_);
  }
}

TEST_F(RunFollowerTest, OtherFailuresOfTheStateAreFinal) {
  AddWholeRun();
  Lines lines;
  RunFollower follower = Follower(lines);
  ASSERT_TRUE(follower.Open(std::nullopt).ok());
  int reads = 0;
  ON_CALL(state_, FollowRun).WillByDefault([&](const auto&, const auto*) {
    ++reads;
    return Result<state::FollowRunReply>(Status(StatusCode::kDataLoss, "damaged"));
  });
  EXPECT_EQ(follower.Follow(lines).code(), StatusCode::kDataLoss);
  EXPECT_EQ(reads, 1);
}

TEST_F(RunFollowerTest, ARunWhoseThreadIsDeletedIsDone) {
  Lines lines;
  RunFollower follower = Follower(lines);
  ASSERT_TRUE(follower.Open(std::nullopt).ok());
  ON_CALL(state_, FollowRun).WillByDefault([](const auto&, const auto*) {
    return Result<state::FollowRunReply>(NotFound("run not found"));
  });
  EXPECT_TRUE(follower.Follow(lines).ok());
  ASSERT_EQ(lines.received.size(), 1u);
  EXPECT_TRUE(lines.received[0].IsDone());
  EXPECT_EQ(lines.received[0].chunk["data"]["reason"], "deleted");
}

TEST_F(RunFollowerTest, ARunThatReachedItsDeadlineInTheQueueEndsWithAnError) {
  record_.state = state::RunState::kError;
  record_.reason = "deadline";
  Lines lines;
  Follow(lines);
  ASSERT_EQ(lines.received.size(), 2u);
  EXPECT_EQ(lines.received[0].event, "error");
  EXPECT_EQ(lines.received[0].chunk["data"]["code"], "TIMEOUT");
  EXPECT_TRUE(lines.received[1].IsDone());
}

TEST_F(RunFollowerTest, NodesAreShownFromPartialOn) {
  AddWholeRun();
  options_.with_state = true;
  Lines lines(Granularity::kPartial);
  Follow(lines);
  ASSERT_EQ(lines.received.size(), 4u);
  EXPECT_EQ(lines.received[2].chunk["data"],
            json::parse(R"({"status":"node_invoked","node":"MAIN","step":1})"));
  EXPECT_EQ(lines.received[2].chunk["state"], nullptr);
  EXPECT_TRUE(lines.received[3].chunk["state"].is_object());
}

}  // namespace
}  // namespace agent_graph::api

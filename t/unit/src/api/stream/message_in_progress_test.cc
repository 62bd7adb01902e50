// RunFollower: messages that a model is still writing, here or in another worker, and readers that
// come back in the middle of one.
#include "run_follower_fixture.h"

namespace agent_graph::api {
namespace {

TEST_F(RunFollowerTest, ShowsTheMessageInProgress) {
  Add(run::entry::NodeStarted{.node = "MAIN", .step = 1});
  BeginLive();
  Piece("m1", "Hel");
  Lines lines;
  lines.on_line = [&](const Received&) {
    if (lines.received.size() == 1) Piece("m1", "lo");
    if (lines.received.size() == 2) {
      // The last piece is not seen before the message is stored.
      AddMessage("m1", "Hello!");
      End();
      live_->SetStored(log_.back().index + 1);
      live_->End();
    }
  };
  Follow(lines);
  EXPECT_EQ(lines.Texts(true), (std::vector<std::string>{"Hel", "lo", "!"}));
  EXPECT_EQ(lines.Texts(false), (std::vector<std::string>{"Hello!"}));
  EXPECT_TRUE(lines.received.back().IsDone());
}

// The connection is cut after each line of the run above. What was read before and after the cut
// is the whole text.
TEST_F(RunFollowerTest, AReaderMayComeBackInTheMiddleOfAMessage) {
  const std::string text = "na\u00efve caf\u00e9";
  for (size_t cut = 1; cut <= 4; ++cut) {
    log_.clear();
    record_.state = state::RunState::kRunning;
    Add(run::entry::NodeStarted{.node = "MAIN", .step = 1});
    BeginLive();
    Piece("m1", "na\u00ef");
    Lines first;
    first.lines_max = cut;
    first.on_line = [&](const Received&) {
      if (first.received.size() == 1) Piece("m1", "ve ");
      if (first.received.size() == 2) Piece("m1", "caf\u00e9");
      if (first.received.size() == 3) {
        AddMessage("m1", text);
        End();
        live_->SetStored(log_.back().index + 1);
        live_->End();
      }
    };
    Follow(first);
    EXPECT_EQ(first.received.size(), cut);
    if (cut < 3) {  // the run ends while nobody reads
      AddMessage("m1", text);
      End();
      live_->SetStored(log_.back().index + 1);
      live_->End();
    } else if (cut == 3) {
      EXPECT_TRUE(state::HasEnded(record_.state));
    }
    Lines rest;
    ASSERT_EQ(Follow(rest, first.received.back().cursor), RunFollower::Place::kFound);
    std::string all;
    for (const Lines* lines : {&first, &rest}) {
      for (const std::string& piece : lines->Texts(true)) all += piece;
    }
    EXPECT_EQ(all, text) << cut;
    EXPECT_EQ(first.Texts(false).size() + rest.Texts(false).size(), 1u) << cut;
    EXPECT_TRUE(rest.received.back().IsDone());
  }
}

TEST_F(RunFollowerTest, ALaterAttemptMakesAPartVoid) {
  Add(run::entry::NodeStarted{.node = "MAIN", .step = 1}, 1);
  BeginLive(1);
  Piece("m1", "Hel");
  Lines lines;
  lines.on_line = [&](const Received&) {
    if (lines.received.size() != 1) return;
    live_->End();
    record_.attempt = 2;
    Add(run::entry::NodeStarted{.node = "MAIN", .step = 1}, 2);
    AddMessage("m2", "Hi", 2);
    End(state::RunState::kDone, 2);
  };
  Follow(lines);
  ASSERT_EQ(lines.received.size(), 4u);
  EXPECT_EQ(lines.received[1].chunk["data"],
            json::parse(R"({"status":"retrying","reset":"m1","attempt":2})"));
  EXPECT_EQ(lines.received[1].cursor, "");
  EXPECT_EQ(lines.Texts(false), (std::vector<std::string>{"Hi"}));
  // The same for a reader that comes back after the part.
  Lines rest;
  ASSERT_EQ(Follow(rest, lines.received[0].cursor), RunFollower::Place::kFound);
  ASSERT_EQ(rest.received.size(), 3u);
  EXPECT_EQ(rest.received[0].chunk["data"],
            json::parse(R"({"status":"retrying","reset":null,"attempt":2})"));
}

// The log names the message in which the reader was.
TEST_F(RunFollowerTest, AResetNamesTheMessageThatAModelHadBegun) {
  Add(run::entry::NodeStarted{.node = "MAIN", .step = 1}, 1);
  Add(run::entry::ModelStarted{.node = "MAIN", .message_id = "m1"}, 1);
  const std::string inside = run::CursorText({kThreadNumber, 1, kLogBegin + 2, 0, 3});
  record_.attempt = 2;
  Add(run::entry::ModelStarted{.node = "MAIN", .message_id = "m2"}, 2);
  AddMessage("m2", "Hi", 2);
  End(state::RunState::kDone, 2);
  Lines rest;
  ASSERT_EQ(Follow(rest, inside), RunFollower::Place::kFound);
  ASSERT_EQ(rest.received.size(), 3u);
  EXPECT_EQ(rest.received[0].chunk["data"],
            json::parse(R"({"status":"retrying","reset":"m1","attempt":2})"));
}

// A piece may be shown before its reader has the entries of its attempt. Its cursor is then behind
// the entries of an earlier attempt.
TEST_F(RunFollowerTest, AReaderComesBackInAMessageWhoseAttemptItHasNotReadYet) {
  Add(run::entry::ModelStarted{.node = "MAIN", .message_id = "m1"}, 1);
  record_.attempt = 2;
  BeginLive(2);
  Piece("m2", "Hel");
  Lines first;
  first.lines_max = 1;
  Follow(first);
  Add(run::entry::AttemptStarted{.run_id = "r", .attempt = 2}, 2);
  Add(run::entry::ModelStarted{.node = "MAIN", .message_id = "m2"}, 2);
  Piece("m2", "lo");
  Lines rest;
  rest.on_line = [&](const Received&) {
    if (rest.received.size() != 1) return;
    AddMessage("m2", "Hello", 2);
    End(state::RunState::kDone, 2);
    live_->SetStored(log_.back().index + 1);
    live_->End();
  };
  ASSERT_EQ(Follow(rest, first.received.back().cursor), RunFollower::Place::kFound);
  EXPECT_EQ(rest.Texts(true), (std::vector<std::string>{"lo"}));
  EXPECT_EQ(rest.Texts(false), (std::vector<std::string>{"Hello"}));
}

void ExpectAscendingCursors(const std::vector<const Lines*>& connections) {
  std::string latest;
  for (const Lines* lines : connections) {
    for (const Received& line : lines->received) {
      if (line.cursor.empty()) continue;
      EXPECT_LT(latest, line.cursor) << line.chunk.dump();
      latest = line.cursor;
    }
  }
}

// The log shows the next attempt before this worker hears that the earlier one is over.
TEST_F(RunFollowerTest, AMessageOfAnAttemptThatIsOverIsNotShownAgain) {
  record_.accepted = true;
  Add(run::entry::NodeStarted{.node = "MAIN", .step = 1}, 1);
  remote_ = std::make_unique<run::RemoteRuns>(state_, nullptr);
  int questions = 0;
  ON_CALL(state_, WatchRun).WillByDefault([&](const auto&, const auto*) {
    state::WatchRunReply reply;
    reply.lease_epoch = ++questions == 1 ? 1 : 2;
    reply.log_end = log_.back().index + 1;
    reply.piece.emplace().message_id = "m1";
    reply.piece->text = "Hello from the first";
    if (questions == 1) {
      Add(run::entry::ModelStarted{.node = "MAIN", .message_id = "m1"}, 1);
      reply.log_end = log_.back().index + 1;
      // The follower reads the log up to there, and finds more.
      record_.attempt = 2;
      Add(run::entry::AttemptStarted{.run_id = "r", .attempt = 2}, 2);
      Add(run::entry::ModelStarted{.node = "MAIN", .message_id = "m2"}, 2);
    } else {
      reply.piece->message_id = "m2";
      reply.piece->text = "Hi";
    }
    return Result<state::WatchRunReply>(reply);
  });
  Lines lines;
  lines.on_line = [&](const Received&) {
    if (lines.received.size() != 1) return;
    AddMessage("m2", "Hi", 2);
    End(state::RunState::kDone, 2);
  };
  Follow(lines);
  EXPECT_EQ(lines.Texts(true), (std::vector<std::string>{"Hi"}));
  EXPECT_EQ(lines.Texts(false), (std::vector<std::string>{"Hi"}));
  ExpectAscendingCursors({&lines});
}

// The reader connects to a worker that has lost the run and does not know that yet.
TEST_F(RunFollowerTest, AReaderOfALaterAttemptGetsNothingOfAnEarlierOne) {
  record_.accepted = true;
  Add(run::entry::ModelStarted{.node = "MAIN", .message_id = "m1"}, 1);
  record_.attempt = 2;
  BeginLive(2);
  Piece("m2", "Hel");
  Lines first;
  first.lines_max = 1;
  Follow(first);
  BeginLive(1);
  Piece("m1", "Hello from the first");
  Lines rest;
  ON_CALL(state_, FollowRun).WillByDefault([&](const auto& follow, const auto*) {
    if (follow.wait_ms > 0) {
      Add(run::entry::AttemptStarted{.run_id = "r", .attempt = 2}, 2);
      AddMessage("m2", "Hello", 2);
      End(state::RunState::kDone, 2);
    }
    return Read(follow);
  });
  ASSERT_EQ(Follow(rest, first.received.back().cursor), RunFollower::Place::kFound);
  EXPECT_EQ(rest.Texts(true), (std::vector<std::string>{"lo"}));
  EXPECT_EQ(rest.Texts(false), (std::vector<std::string>{"Hello"}));
  ExpectAscendingCursors({&first, &rest});
}

TEST_F(RunFollowerTest, ShowsTheMessageInProgressOfAnotherWorker) {
  record_.accepted = true;
  Add(run::entry::NodeStarted{.node = "MAIN", .step = 1});
  remote_ = std::make_unique<run::RemoteRuns>(state_, nullptr);
  std::string text = "Hel";
  ON_CALL(state_, WatchRun).WillByDefault([&](const auto& known, const auto*) {
    state::WatchRunReply reply;
    reply.lease_epoch = 1;
    reply.log_end = log_.back().index + 1;
    reply.ended = state::HasEnded(record_.state);
    reply.piece.emplace().message_id = "m1";
    if (known.message_id == "m1") reply.piece->text_begin = known.text_bytes;
    reply.piece->text = text.substr(reply.piece->text_begin);
    return Result<state::WatchRunReply>(reply);
  });
  Lines lines;
  lines.on_line = [&](const Received&) {
    if (lines.received.size() == 1) text += "lo";
    if (lines.received.size() == 2) AddMessage("m1", "Hello!");
    if (lines.received.size() == 4) End();
  };
  Follow(lines);
  EXPECT_EQ(lines.Texts(true), (std::vector<std::string>{"Hel", "lo", "!"}));
  // The other worker shows its pieces a little longer than the message is stored.
  EXPECT_EQ(lines.Texts(false), (std::vector<std::string>{"Hello!"}));
  EXPECT_TRUE(lines.received.back().IsDone());
}

TEST_F(RunFollowerTest, AStateServerWithoutPiecesServesTheLog) {
  record_.accepted = true;
  remote_ = std::make_unique<run::RemoteRuns>(state_, nullptr);
  ON_CALL(state_, WatchRun).WillByDefault([&](const auto&, const auto*) {
    AddWholeRun();
    return Result<state::WatchRunReply>(Unavailable("the state server is being replaced"));
  });
  Lines lines;
  Follow(lines);
  EXPECT_EQ(lines.Texts(false), (std::vector<std::string>{"one", "two"}));
  EXPECT_TRUE(lines.received.back().IsDone());
}

TEST_F(RunFollowerTest, OnlyTheFirstDeltaHasACursorIfTheReaderWantsFew) {
  Add(run::entry::NodeStarted{.node = "MAIN", .step = 1});
  BeginLive();
  Piece("m1", "a");
  Lines lines(Granularity::kLow, false);
  lines.lines_max = 2;
  lines.on_line = [&](const Received&) { Piece("m1", "b"); };
  Follow(lines);
  EXPECT_TRUE(lines.received[0].chunk["metadata"].contains("cursor"));
  EXPECT_FALSE(lines.received[1].chunk["metadata"].contains("cursor"));
  EXPECT_NE(lines.received[1].cursor, "");
  EXPECT_EQ(last_.code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace agent_graph::api

// RunFollower: what readers of a run get, from any position on.
#include "api/stream/run_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "../../../engine/state/fake_service.h"
#include "agent_graph/json.h"
#include "api/stream/line_reader.h"
#include "message/codec.h"
#include "run/run_sink.h"

namespace agent_graph::api {
namespace {

using testing::_;
using testing::NiceMock;

constexpr uint64_t kThreadNumber = 7;
constexpr uint64_t kLogBegin = 100;

struct Received {
  std::string event;
  std::string cursor;
  json chunk;

  std::string Text() const {
    std::string text;
    for (const json& block : chunk["message"]["content"]) text += block.value("text", "");
    return text;
  }
  bool IsDelta() const { return chunk["message"].is_object() && chunk["message"]["delta"] == true; }
  bool IsDone() const { return chunk["data"].is_object() && chunk["data"]["status"] == "done"; }
  std::optional<run::Cursor> Position() const { return run::ParseCursor(cursor); }
};

// Keeps the lines; cancels the follower after a number of them.
class Lines : public LineReader {
 public:
  explicit Lines(Granularity granularity = Granularity::kLow, bool delta_cursors = true)
      : LineReader(granularity, delta_cursors) {}

  Status Send(const StreamLine& line) override {
    EXPECT_TRUE(line.json.ends_with('\n'));
    received.push_back({std::string(line.event), std::string(line.cursor), json::parse(line.json)});
    if (on_line) on_line(received.back());
    if (received.size() == lines_max) {
      cancellation.Cancel(runtime::CancelReason::kClientGone);
      return Status(StatusCode::kCancelled, "the reader has gone");
    }
    return Status::Ok();
  }
  Status SendHeartbeat() override {
    ++heartbeats;
    if (on_heartbeat) on_heartbeat();
    return Status::Ok();
  }

  std::vector<std::string> Texts(bool deltas) const {
    std::vector<std::string> texts;
    for (const Received& line : received) {
      if (line.chunk["message"].is_object() && line.IsDelta() == deltas) {
        texts.push_back(line.Text());
      }
    }
    return texts;
  }

  std::vector<Received> received;
  size_t lines_max = 0;  // 0: no limit
  int heartbeats = 0;
  std::function<void(const Received&)> on_line;
  std::function<void()> on_heartbeat;
  runtime::Cancellation cancellation;
};

class RunFollowerTest : public testing::Test {
 protected:
  RunFollowerTest() {
    record_.run_id = "r";
    record_.thread_id = "t";
    record_.thread_number = kThreadNumber;
    record_.state = state::RunState::kRunning;
    record_.attempt = 1;
    record_.created_micros = 1000;
    record_.log_begin = kLogBegin;
    ON_CALL(state_, FollowRun).WillByDefault([this](const auto& follow, const auto*) {
      return Read(follow);
    });
    ON_CALL(state_, GetMessage)
        .WillByDefault([this](const auto&, const auto&,
                              const std::string& id) -> Result<state::StoredMessage> {
          const auto found = messages_.find(id);
          if (found == messages_.end()) return NotFound("no such message");
          return state::StoredMessage{id, 1, found->second};
        });
    state_.At("t").state.record.thread_id = "t";
    state_.At("t").state.record.name = "A name";
  }

  Result<state::FollowRunReply> Read(const state::FollowRunRequest& follow) {
    if (before_read_) before_read_();
    state::FollowRunReply reply;
    reply.run = record_;
    reply.kept_from = kept_from_;
    for (const state::IndexedEntry& entry : log_) {
      if (entry.index >= follow.first && reply.entries.size() < follow.entries_max) {
        reply.entries.push_back(entry);
      }
    }
    const uint64_t end = log_.empty() ? kLogBegin : log_.back().index + 1;
    const uint64_t read =
        reply.entries.empty() ? std::max(follow.first, kLogBegin) : reply.entries.back().index + 1;
    reply.complete = state::HasEnded(record_.state) && read >= end;
    return reply;
  }

  void Add(run::EntryBody body, uint64_t lease_epoch = 1) {
    const uint64_t index = log_.empty() ? kLogBegin : log_.back().index + 1;
    log_.push_back({index, lease_epoch, run::Encode(std::move(body), 1'500'000)});
  }
  void AddMessage(const std::string& id, const std::string& text, uint64_t lease_epoch = 1) {
    Message message = Message::Assistant(text);
    message.id = id;
    messages_[id] = message::ToJsonText(message);
    Add(run::entry::MessageAdded{.message_id = id, .node = "MAIN", .role = "assistant"},
        lease_epoch);
  }
  void End(state::RunState run_state = state::RunState::kDone, uint64_t lease_epoch = 1) {
    Add(run::entry::RunFinished{.run_id = "r"}, lease_epoch);
    record_.state = run_state;
    record_.finished_micros = 2'000'000;
  }
  void AddWholeRun() {
    Add(run::entry::RunStarted{.run_id = "r", .graph = "g", .graph_hash = "h"});
    Add(run::entry::NodeStarted{.node = "MAIN", .step = 1});
    AddMessage("m1", "one");
    AddMessage("m2", "two");
    Add(run::entry::NodeFinished{.node = "MAIN", .step = 1});
    End();
  }
  void Piece(const std::string& id, const std::string& text) {
    run::RunDelta delta;
    delta.message_id = id;
    delta.text = text;
    delta.node = "MAIN";
    delta.step = 1;
    live_->AddPiece(delta);
  }
  void BeginLive(uint64_t lease_epoch = 1) {
    live_ = std::make_shared<run::LiveRun>();
    run::RunStart start;
    start.lease_epoch = lease_epoch;
    start.log_index = log_.empty() ? kLogBegin : log_.back().index + 1;
    live_->Begin(start);
  }

  RunFollower Follower(const Lines& lines) {
    LiveRuns runs{.here = [this] { return live_; }, .elsewhere = {}, .leaves = {}};
    if (remote_ != nullptr) {
      runs.elsewhere = [this](uint64_t number) { return remote_->Join("t", number, "r"); };
    }
    return RunFollower(state_, std::move(runs), {state::Scope::All(), "t", "r"}, options_,
                       lines.cancellation);
  }
  // Follows from the cursor on; returns the place.
  RunFollower::Place Follow(Lines& lines, const std::string& after = "") {
    RunFollower follower = Follower(lines);
    const auto place = follower.Open(run::ParseCursor(after)).value();
    if (place == RunFollower::Place::kFound) last_ = follower.Follow(lines);
    return place;
  }

  NiceMock<state::FakeService> state_;
  state::RunRecord record_;
  std::vector<state::IndexedEntry> log_;
  uint64_t kept_from_ = kLogBegin;
  std::map<std::string, std::string> messages_;
  std::shared_ptr<run::LiveRun> live_;
  std::unique_ptr<run::RemoteRuns> remote_;
  std::function<void()> before_read_;
  FollowerOptions options_{.heartbeat = std::chrono::hours(1),
                           .retry = std::chrono::milliseconds(1)};
  Status last_;
};

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
  // A reader that has the error only still gets the end.
  Lines rest;
  EXPECT_EQ(Follow(rest, lines.received[0].cursor), RunFollower::Place::kFound);
  ASSERT_EQ(rest.received.size(), 1u);
  EXPECT_TRUE(rest.received[0].IsDone());
}

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

// Every line of the run above, cut there: the pieces and the rest are the whole text.
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

// A piece may be shown before the entries of its attempt: its cursor is behind those of another
// one.
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

// A run in a fake state, live in this worker or in another one, and a reader that keeps what it
// receives.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../../../engine/state/fake_service.h"
#include "agent_graph/json.h"
#include "api/stream/line_reader.h"
#include "api/stream/run_follower.h"
#include "message/codec.h"
#include "run/run_sink.h"

namespace agent_graph::api {

inline constexpr uint64_t kThreadNumber = 7;
inline constexpr uint64_t kLogBegin = 100;

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
    reply.history = history_;
    for (const state::IndexedEntry& entry : log_) {
      if (entry.index >= follow.first && reply.entries.size() < follow.entries_max &&
          reply.entries.size() < page_entries_max_) {
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
    LiveRuns runs{.here = [this] { return live_; }, .elsewhere = {}, .leave_time = leave_time_};
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

  testing::NiceMock<state::FakeService> state_;
  state::RunRecord record_;
  std::vector<state::IndexedEntry> log_;
  uint64_t kept_from_ = kLogBegin;
  uint64_t history_ = 0;
  size_t page_entries_max_ = SIZE_MAX;  // as if more were too many bytes for one reply
  std::map<std::string, std::string> messages_;
  std::shared_ptr<run::LiveRun> live_;
  std::unique_ptr<run::RemoteRuns> remote_;
  std::function<void()> before_read_;
  std::function<Deadline()> leave_time_;
  FollowerOptions options_{.heartbeat = std::chrono::hours(1),
                           .retry = std::chrono::milliseconds(1)};
  Status last_;
};

}  // namespace agent_graph::api

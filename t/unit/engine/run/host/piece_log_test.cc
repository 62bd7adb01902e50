#include "run/host/piece_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>
#include <vector>

#include "../../state/fake_service.h"
#include "run/log/log_entry.h"

namespace agent_graph::run {
namespace {

class PieceLogTest : public testing::Test {
 protected:
  PieceLogTest() {
    RunStart start;
    start.lease_epoch = 3;
    live_->Begin(start);
    ON_CALL(state_, AppendRun).WillByDefault([this](const state::AppendRunRequest& append) {
      EXPECT_EQ(append.lease_epoch, 3u);
      EXPECT_FALSE(append.first_entry);
      EXPECT_TRUE(append.current_node.empty()) << "the place of the run is not its business";
      return Answer(std::get<entry::MessagePiece>(*Decode(append.entries.at(0))));
    });
  }

  Result<state::AppendRunReply> Answer(const entry::MessagePiece& piece) {
    if (failure_.ok()) pieces_.push_back(piece);
    const Status failure = std::exchange(failure_, Status::Ok());
    if (on_piece_) on_piece_();
    if (!failure.ok()) return failure;
    return state::AppendRunReply{};
  }
  void Add(const std::string& id, const std::string& text, const std::string& reasoning = "") {
    live_->AddPiece(
        {.message_id = id, .text = text, .reasoning = reasoning, .node = "A", .step = 2});
  }
  void Write() { PieceLog(state_, live_, "t", "r").Write(); }

  testing::NiceMock<state::FakeService> state_;
  std::shared_ptr<LiveRun> live_ = std::make_shared<LiveRun>();
  std::vector<entry::MessagePiece> pieces_;
  Status failure_;
  std::function<void()> on_piece_;
};

TEST_F(PieceLogTest, WritesWhatIsNewOfTheMessageInProgress) {
  Add("m1", "", "hm");
  Add("m1", "he");
  on_piece_ = [&] {
    if (pieces_.size() == 1) Add("m1", "llo");
    if (pieces_.size() == 2) {
      live_->SetStored(0);
      Add("m2", "next");
    }
    if (pieces_.size() == 3) live_->End();
  };
  Write();
  ASSERT_EQ(pieces_.size(), 3u);
  EXPECT_EQ(pieces_[0].text, "he");
  EXPECT_EQ(pieces_[0].reasoning, "hm");
  EXPECT_EQ(pieces_[1].text, "llo");
  EXPECT_EQ(pieces_[1].text_begin, 2);
  EXPECT_EQ(pieces_[1].reasoning_begin, 2);
  EXPECT_EQ(pieces_[2].message_id, "m2");
  EXPECT_EQ(pieces_[2].text_begin, 0);
}

TEST_F(PieceLogTest, WritesAPieceAgainAfterAFailure) {
  Add("m1", "he");
  failure_ = Status(StatusCode::kUnavailable, "the state server is away");
  on_piece_ = [&] {
    if (pieces_.size() == 1) live_->End();
  };
  Write();
  ASSERT_EQ(pieces_.size(), 1u);
  EXPECT_EQ(pieces_[0].text, "he");
}

TEST_F(PieceLogTest, EndsWhenAnotherWorkerHasTheRun) {
  Add("m1", "he");
  failure_ = Status(StatusCode::kFenced, "the run has lost its lease");
  Write();
  EXPECT_TRUE(pieces_.empty());
}

}  // namespace
}  // namespace agent_graph::run

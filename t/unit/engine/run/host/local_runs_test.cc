// LocalRuns: a run's message in progress is published while clients of other workers watch it.
#include "run/host/local_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../../state/fake_service.h"
#include "runtime/runtime.h"

namespace agent_graph::run {
namespace {

class LocalRunsTest : public testing::Test {
 protected:
  void SetUp() override {
    ON_CALL(state_, PublishPiece)
        .WillByDefault(
            [this](const state::PublishPieceRequest& request) -> Result<state::PublishPieceReply> {
              texts_.push_back(request.piece ? request.piece->text : "");
              const uint64_t end =
                  request.piece ? request.piece->text_begin + texts_.back().size() : 0;
              return state::PublishPieceReply{.watched = is_watched_, .text_bytes = end};
            });
    ASSERT_TRUE(runtime_.Start().ok());
    runs_.Add("t", "r", live_);
    live_->AddPiece({.message_id = "m1", .text = "hello", .reasoning = "", .node = "A", .step = 1});
  }
  void TearDown() override {
    runs_.Remove("t", "r", *live_);
    EXPECT_TRUE(runtime_.Stop(kNoDeadline).ok());
  }

  // Returns when the fibers that were there have ended, or wait: there is one engine thread.
  void LetFibersRun() {
    std::promise<void> reached;
    runtime_.Spawn([&] { reached.set_value(); });
    reached.get_future().wait();
  }
  // Another worker begins to watch the run.
  void Watch(uint64_t number) {
    runs_.Publish({.thread_id = "t", .run_id = "r", .watch = number});
    LetFibersRun();
  }

  testing::NiceMock<state::FakeService> state_;
  bool is_watched_ = true;
  std::vector<std::string> texts_;  // those that were published
  runtime::Runtime runtime_{runtime::RuntimeOptions{}};
  LocalRuns runs_{state_, runtime_, {}};
  const std::shared_ptr<LiveRun> live_ = std::make_shared<LiveRun>();
};

TEST_F(LocalRunsTest, PublishesTheMessageSoFar) {
  Watch(1);
  EXPECT_EQ(texts_, std::vector<std::string>{"hello"});
}

TEST_F(LocalRunsTest, TwoWatchersGetItOnce) {
  Watch(1);
  Watch(2);
  EXPECT_EQ(texts_, std::vector<std::string>{"hello"});
}

TEST_F(LocalRunsTest, PublishesAgainForAWatcherThatComesWhenTheFirstHasGone) {
  is_watched_ = false;
  Watch(1);
  is_watched_ = true;
  Watch(2);
  EXPECT_EQ(texts_, (std::vector<std::string>{"hello", "hello"}));
}

TEST_F(LocalRunsTest, ARunOfAnotherWorkerIsNotPublished) {
  runs_.Publish({.thread_id = "t", .run_id = "other", .watch = 1});
  runs_.Publish({.thread_id = "other", .run_id = "r", .watch = 1});
  LetFibersRun();
  EXPECT_TRUE(texts_.empty());
}

// A run can be watched from the moment when it has its lease. Its worker loads the thread first.
TEST_F(LocalRunsTest, ARunThatWasWatchedBeforeItBegan) {
  runs_.Publish({.thread_id = "t", .run_id = "next", .watch = 1});
  const auto live = std::make_shared<LiveRun>();
  live->AddPiece({.message_id = "m2", .text = "again", .reasoning = "", .node = "A", .step = 1});
  runs_.Add("t", "next", live);
  LetFibersRun();
  EXPECT_EQ(texts_, std::vector<std::string>{"again"});
  runs_.Remove("t", "next", *live);
}

}  // namespace
}  // namespace agent_graph::run

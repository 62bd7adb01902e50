// DirectSink: the run of a connected client, as those see it that follow it.
#include "run/host/direct_sink.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "../run_fixture.h"

namespace agent_graph::run {
namespace {

class DirectSinkTest : public RunTest {
 protected:
  void TearDown() override {
    RunTest::TearDown();
    EXPECT_EQ(held_, 0);
  }
  static RunStart StartOf(const std::string& thread_id, uint64_t thread_number = 1) {
    RunStart start;
    start.thread_id = thread_id;
    start.run_id = "r";
    start.thread_number = thread_number;
    start.lease_epoch = 3;
    start.log_index = 10;
    return start;
  }
  static RunDelta Piece(std::string_view text) {
    return {.message_id = "m", .text = text, .reasoning = "", .node = "A", .step = 1};
  }
  // The text of the message in progress.
  std::string Shown(const std::string& thread_id = "t") {
    const std::shared_ptr<LiveRun> live = runs_.Find(thread_id, "r");
    if (live == nullptr) return "no run";
    const LiveRun::View view = live->Read("", 0, 0);
    return view.partial ? view.partial->text : "no message";
  }

  std::atomic<int64_t> held_ = 0;
  LocalRuns runs_{state_, runtime_, [this](int64_t bytes) { held_ += bytes; }};
};

TEST_F(DirectSinkTest, ClientAndFollowersGetEachPiece) {
  auto sink = std::make_unique<DirectSink>(sink_, runs_);
  ASSERT_TRUE(sink->OnStart(StartOf("t")).ok());
  EXPECT_EQ(Shown("other"), "no run");
  EXPECT_TRUE(sink->wants_deltas());
  ASSERT_TRUE(sink->OnDelta(Piece("Hel")).ok());
  ASSERT_TRUE(sink->OnDelta(Piece("lo")).ok());
  EXPECT_EQ(Shown(), "Hello");
  EXPECT_EQ(sink_.Of(RunEvent::Kind::kMessageDelta).size(), 2u);
  sink->OnHeld(100, 5);
  EXPECT_EQ(held_, 5);
  sink->OnStored(12);
  const std::shared_ptr<LiveRun> live = runs_.Find("t", "r");
  EXPECT_EQ(Shown(), "no message");
  EXPECT_EQ(live->Read("", 0, 0).log_end, 12u);
  sink.reset();
  EXPECT_TRUE(live->Read("", 0, 0).ended);
  EXPECT_EQ(Shown(), "no run");
}

TEST_F(DirectSinkTest, OfALongMessageThatIsNotFollowedOnlyTheBeginningIsKept) {
  DirectSink sink(sink_, runs_);
  ASSERT_TRUE(sink.OnStart(StartOf("t")).ok());
  const std::string piece(40'000, 'x');
  ASSERT_TRUE(sink.OnDelta(Piece(piece)).ok());
  ASSERT_TRUE(sink.OnDelta(Piece(piece)).ok());
  EXPECT_EQ(Shown(), piece);
  sink.OnStored(11);
  // Now that it is followed, the next one is kept whole.
  ASSERT_TRUE(sink.OnDelta(Piece(piece)).ok());
  ASSERT_TRUE(sink.OnDelta(Piece(piece)).ok());
  EXPECT_EQ(Shown(), piece + piece);
}

// A node that has shown pieces is not retried, so pieces are made for followers only.
TEST_F(DirectSinkTest, AClientWithoutPiecesGetsNone) {
  sink_.deltas = false;
  DirectSink sink(sink_, runs_);
  ASSERT_TRUE(sink.OnStart(StartOf("t")).ok());
  EXPECT_FALSE(sink.wants_deltas());
  sink.OnStored(11);
  EXPECT_FALSE(sink.wants_deltas());
  EXPECT_EQ(Shown(), "no message");
  EXPECT_FALSE(sink.wants_deltas()) << "the node in progress goes on without";
  sink.OnStored(12);
  EXPECT_TRUE(sink.wants_deltas());
  ASSERT_TRUE(sink.OnDelta(Piece("Hi")).ok());
  EXPECT_EQ(Shown(), "Hi");
  EXPECT_TRUE(sink_.events.empty());
}

TEST_F(DirectSinkTest, ARunOfWhichNothingIsStoredIsNotFollowed) {
  DirectSink sink(sink_, runs_);
  ASSERT_TRUE(sink.OnStart(StartOf("t", /*thread_number=*/0)).ok());
  ASSERT_TRUE(sink.OnDelta(Piece("Hi")).ok());
  sink.OnStored(0);
  EXPECT_EQ(Shown(), "no run");
  EXPECT_EQ(sink_.Of(RunEvent::Kind::kMessageDelta).size(), 1u);
}

}  // namespace
}  // namespace agent_graph::run

// RunWatches: the bounds on messages in progress that are kept for watchers.
#include "state/follow/run_watches.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

#include "state/lease_epoch.h"

namespace agent_graph::state {
namespace {

PublishPieceReply Publish(RunWatches& watches, const std::string& run_id, uint64_t begin,
                          size_t bytes) {
  PublishPieceRequest publish{.thread_id = "t", .run_id = run_id, .lease_epoch = 1, .piece = {}};
  publish.piece.emplace();
  publish.piece->message_id = "m";
  publish.piece->text_begin = begin;
  publish.piece->text.assign(bytes, 'x');
  return watches.Publish(publish);
}

WatchRunRequest Known(const std::string& run_id) {
  WatchRunRequest watch;
  watch.thread_id = "t";
  watch.run_id = run_id;
  return watch;
}

TEST(RunWatchesTest, TheWorkerIsToldOncePerAttempt) {
  RunWatches watches(100);
  const Deadline until = DeadlineAfter(std::chrono::hours(1));
  EXPECT_FALSE(watches.Join({"t", "r"}, 0, until));  // it waits for the thread
  EXPECT_EQ(watches.Join({"t", "r"}, 1, until), 101u);
  EXPECT_FALSE(watches.Join({"t", "r"}, 1, until));
  EXPECT_EQ(watches.Join({"t", "r"}, 2, until), 101u);
  EXPECT_EQ(watches.Join({"t", "other"}, 2, until), 102u);
}

// Numbers of threads are not in the order in which hosts take them.
TEST(RunWatchesTest, ARunOfANewThreadOfTheSameIdIsWatchedInItsPlace) {
  constexpr uint64_t kDeleted = (uint64_t{7} << kLeaseEpochBits) + 1;
  constexpr uint64_t kNew = (uint64_t{5} << kLeaseEpochBits) + 1;
  RunWatches watches(100);
  const Deadline until = DeadlineAfter(std::chrono::hours(1));
  EXPECT_EQ(watches.Join({"t", "r"}, kDeleted, until), 101u);
  EXPECT_EQ(watches.Join({"t", "r"}, kNew, until), 101u);
  EXPECT_FALSE(watches.Join({"t", "r"}, kNew, until));
  EXPECT_TRUE(
      watches
          .Publish({.thread_id = "t", .run_id = "r", .lease_epoch = kNew, .piece = MessagePiece()})
          .watched);
}

TEST(RunWatchesTest, AMessageThatIsTooLargeIsDropped) {
  RunWatches watches(0);
  watches.Join({"t", "r"}, 1, DeadlineAfter(std::chrono::hours(1)));
  EXPECT_FALSE(Publish(watches, "r", 0, kWatchedMessageBytesMax).full);
  EXPECT_TRUE(watches.Find(Known("r")));
  EXPECT_TRUE(Publish(watches, "r", kWatchedMessageBytesMax, 1).full);
  EXPECT_FALSE(watches.Find(Known("r")));
  EXPECT_EQ(watches.bytes(), 0u);
  // It stays dropped; the next message is kept.
  EXPECT_TRUE(Publish(watches, "r", 0, 1).full);
  watches.Publish({.thread_id = "t", .run_id = "r", .lease_epoch = 1, .piece = {}});
  EXPECT_FALSE(Publish(watches, "r", 0, 1).full);
}

TEST(RunWatchesTest, AllMessagesTogetherAreBounded) {
  RunWatches watches(0);
  size_t kept = 0;
  for (int run = 0; run < 10; ++run) {
    const std::string run_id = "r" + std::to_string(run);
    watches.Join({"t", run_id}, 1, DeadlineAfter(std::chrono::hours(1)));
    if (!Publish(watches, run_id, 0, kWatchedMessageBytesMax).full) ++kept;
  }
  EXPECT_EQ(kept, kWatchedBytesMax / kWatchedMessageBytesMax);
  EXPECT_EQ(watches.bytes(), kWatchedBytesMax);
}

TEST(RunWatchesTest, AnAnswerHasAPortionOfWholeCharacters) {
  RunWatches watches(0);
  watches.Join({"t", "r"}, 1, DeadlineAfter(std::chrono::hours(1)));
  PublishPieceRequest publish{.thread_id = "t", .run_id = "r", .lease_epoch = 1, .piece = {}};
  publish.piece.emplace();
  publish.piece->message_id = "m";
  publish.piece->text = "x";
  while (publish.piece->text.size() <= 2 * kPieceBytesMax) publish.piece->text += "\u00e9";
  watches.Publish(publish);
  WatchRunRequest known = Known("r");
  std::string text;
  while (text.size() < publish.piece->text.size()) {
    const auto found = watches.Find(known);
    ASSERT_TRUE(found);
    ASSERT_FALSE(found->piece.text.empty());
    EXPECT_LE(found->piece.text.size(), kPieceBytesMax);
    EXPECT_EQ(found->piece.text.size() % 2, text.empty() ? 1u : 0u);
    text += found->piece.text;
    known.message_id = "m";
    known.text_bytes = text.size();
  }
  EXPECT_EQ(text, publish.piece->text);
}

TEST(RunWatchesTest, ARunThatNobodyWatchesIsForgotten) {
  RunWatches watches(0);
  const auto now = MonotonicClock::now();
  watches.Join({"t", "r"}, 1, now);
  Publish(watches, "r", 0, 10);
  watches.Expire(now);
  EXPECT_TRUE(watches.empty());
  EXPECT_EQ(watches.bytes(), 0u);
  EXPECT_FALSE(Publish(watches, "r", 10, 10).watched);
}

// The caller has read the run when its log ended at 7, and knows 3 bytes of the message.
class NextPieceTest : public testing::Test {
 protected:
  NextPieceTest() {
    watches_.Join(kRun, 1, DeadlineAfter(std::chrono::hours(1)));
    Publish(watches_, "r", 0, 5);
    watches_.NoteRead(kRun, watches_.ChangesOf(kRun), {.lease_epoch = 1, .log_end = 7});
    known_ = Known("r");
    known_.lease_epoch = 1;
    known_.log_end = 7;
    known_.message_id = "m";
    known_.text_bytes = 3;
  }
  const RunWatches::Key kRun{"t", "r"};
  RunWatches watches_{0};
  WatchRunRequest known_;
};

TEST_F(NextPieceTest, ItNeedsNoRead) {
  const std::optional<WatchRunReply> next = watches_.Continue(known_);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->lease_epoch, 1u);
  EXPECT_EQ(next->log_end, 7u);
  EXPECT_FALSE(next->ended);
  EXPECT_EQ(next->piece->text_begin, 3u);
  EXPECT_EQ(next->piece->text, "xx");
}

TEST_F(NextPieceTest, AfterAChangeAReadHasToTell) {
  watches_.NoteChanged({"s", "u"});
  EXPECT_TRUE(watches_.Continue(known_));
  const uint64_t before = watches_.ChangesOf(kRun);
  watches_.NoteChanged({"s", "t"});
  EXPECT_FALSE(watches_.Continue(known_));
  // A read that began before the change has not seen it.
  watches_.NoteRead(kRun, before, {.lease_epoch = 1, .log_end = 7});
  EXPECT_FALSE(watches_.Continue(known_));
  watches_.NoteRead(kRun, watches_.ChangesOf(kRun), {.lease_epoch = 1, .log_end = 7});
  EXPECT_TRUE(watches_.Continue(known_));
}

TEST_F(NextPieceTest, ACallerThatKnowsSomethingElseGetsARead) {
  WatchRunRequest other = known_;
  other.lease_epoch = 0;
  EXPECT_FALSE(watches_.Continue(other));
  other = known_;
  other.log_end = 6;
  EXPECT_FALSE(watches_.Continue(other));
  other = known_;
  other.message_id = "n";
  EXPECT_FALSE(watches_.Continue(other));
  other = known_;
  other.text_bytes = 5;
  EXPECT_FALSE(watches_.Continue(other));
  EXPECT_FALSE(watches_.Continue(Known("another")));
}

}  // namespace
}  // namespace agent_graph::state

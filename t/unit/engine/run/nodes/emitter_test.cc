// The emitter passes pieces to its sink, and reports the memory that a reply takes.
#include "run/nodes/emitter.h"

#include "../run_fixture.h"

namespace agent_graph::run {
namespace {

class EmitterTest : public testing::Test {
 protected:
  std::vector<uint64_t> ReplyBytes() const {
    std::vector<uint64_t> bytes;
    for (const RecordingSink::Held& held : sink_.held) bytes.push_back(held.reply_bytes);
    return bytes;
  }
  RecordingSink sink_;
  runtime::Cancellation cancellation_;
  Emitter emitter_{sink_, cancellation_};
};

TEST_F(EmitterTest, AReplyIsReportedInStepsOfSixteenKibibytes) {
  emitter_.HoldThread(7);
  for (int i = 0; i < 100; ++i) emitter_.HoldPiece(1000);
  EXPECT_EQ(ReplyBytes(), (std::vector<uint64_t>{0, 17'000, 34'000, 51'000, 68'000, 85'000}));
  EXPECT_EQ(sink_.held.back().thread_bytes, 7u);
  emitter_.HoldThread(100'007);
  emitter_.HoldPiece(16 * 1024 - 1);
  EXPECT_EQ(ReplyBytes().back(), 0u) << "the reply is a part of the thread now";
  emitter_.HoldPiece(1);
  EXPECT_EQ(ReplyBytes().back(), 16u * 1024);
}

TEST_F(EmitterTest, ALargeReplyWaitsForMemoryAsItGrows) {
  emitter_.HoldThread(7);
  const auto receive = [&](uint64_t bytes) {
    EXPECT_TRUE(emitter_.AwaitPiece(bytes).ok());
    emitter_.HoldPiece(bytes);
  };
  receive(32 * 1024);
  emitter_.AwaitReply();
  EXPECT_TRUE(sink_.awaited_in_all.empty()) << "a small reply does not wait";
  receive(32 * 1024);
  ASSERT_EQ(sink_.awaited_in_all.size(), 1u);
  EXPECT_EQ(sink_.awaited_in_all[0].thread_bytes, 7u);
  EXPECT_EQ(sink_.awaited_in_all[0].reply_bytes, 96u * 1024);
  EXPECT_EQ(ReplyBytes().back(), 96u * 1024) << "what was awaited is held";
  receive(32 * 1024);
  EXPECT_EQ(sink_.awaited_in_all.size(), 1u);
  receive(1);
  ASSERT_EQ(sink_.awaited_in_all.size(), 2u);
  EXPECT_EQ(sink_.awaited_in_all[1].reply_bytes, (96u * 1024 + 1) * 3 / 2);
  emitter_.AwaitReply();
  ASSERT_EQ(sink_.awaited_in_all.size(), 3u);
  EXPECT_EQ(sink_.awaited_in_all[2].thread_bytes, 7u + 96 * 1024 + 1);
  EXPECT_EQ(sink_.awaited_in_all[2].reply_bytes, 0u);
}

TEST_F(EmitterTest, TooLittleMemoryForAReplyIsNoLostClient) {
  sink_.on_await_in_all = [] { return Status(StatusCode::kResourceExhausted, "no memory"); };
  EXPECT_EQ(emitter_.AwaitPiece(100'000).code(), StatusCode::kResourceExhausted);
  EXPECT_FALSE(cancellation_.cancelled());
}

TEST_F(EmitterTest, ReasoningIsAPieceToo) {
  emitter_.SetNode("A", 1);
  ASSERT_TRUE(emitter_.EmitPiece("m", "", "").ok());
  EXPECT_TRUE(sink_.events.empty());
  EXPECT_FALSE(emitter_.has_shown_pieces());
  ASSERT_TRUE(emitter_.EmitPiece("m", "", "because").ok());
  EXPECT_EQ(sink_.events.size(), 1u);
  EXPECT_TRUE(emitter_.has_shown_pieces());
  emitter_.SetNode("B", 2);
  EXPECT_FALSE(emitter_.has_shown_pieces());
  ASSERT_TRUE(emitter_.EmitPiece("m", std::string(10'000, 'x'), std::string(10'000, 'x')).ok());
  EXPECT_EQ(ReplyBytes(), std::vector<uint64_t>{20'007});
}

}  // namespace
}  // namespace agent_graph::run

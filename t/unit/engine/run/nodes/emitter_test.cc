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

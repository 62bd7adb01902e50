// The emitter passes pieces to its sink, and reports the memory that a reply takes.
#include "run/nodes/emitter.h"

#include <atomic>
#include <thread>

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

// Two threads of one function, of which the first waits for a slow client.
TEST_F(EmitterTest, APieceIsRefusedWhileAnotherIsSent) {
  UserEmission emission(emitter_);
  Status inner;
  sink_.on_event = [&](const RunEvent&) {
    inner = emission.EmitPiece("m", "second", "");
    return Status::Ok();
  };
  EXPECT_TRUE(emission.EmitPiece("m", "first", "").ok());
  EXPECT_EQ(inner.code(), StatusCode::kCancelled);
  EXPECT_EQ(sink_.events.size(), 1u);
  sink_.on_event = {};
  EXPECT_TRUE(emission.EmitPiece("m", "third", "").ok());
  emission.Close();
  EXPECT_EQ(emission.EmitPiece("m", "late", "").code(), StatusCode::kCancelled);
  EXPECT_EQ(sink_.events.size(), 2u);
}

TEST_F(EmitterTest, ClosingWaitsForAPieceThatIsBeingSent) {
  UserEmission emission(emitter_);
  std::promise<void> entered;
  std::promise<void> release;
  std::atomic<bool> sent = false;
  sink_.on_event = [&](const RunEvent&) {
    entered.set_value();
    release.get_future().wait();
    sent = true;
    return Status::Ok();
  };
  std::thread sender([&] { EXPECT_TRUE(emission.EmitPiece("m", "piece", "").ok()); });
  entered.get_future().wait();
  std::thread closer([&] {
    emission.Close();
    EXPECT_TRUE(sent);
  });
  release.set_value();
  closer.join();
  sender.join();
}

}  // namespace
}  // namespace agent_graph::run

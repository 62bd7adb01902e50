// The memory that a run reports.
#include "../run_fixture.h"

namespace agent_graph::run {
namespace {

constexpr size_t kLarge = 100'000;

class HeldBytesTest : public RunTest {
 protected:
  HeldBytesTest() {
    AddAgentWithTools({});
    const std::string piece(kLarge / 2, 'x');
    model_.script = {{.pieces = {piece, piece}, .calls = {}, .failure = {}}};
  }

  // The thread of before, the reply in two steps, and the thread with the reply.
  void ExpectGrowth() const {
    ASSERT_EQ(sink_.held.size(), 4u);
    EXPECT_GT(sink_.held[0].thread_bytes, kLarge);
    EXPECT_EQ(sink_.held[0].reply_bytes, 0u);
    EXPECT_EQ(sink_.held[1].reply_bytes, kLarge / 2);
    EXPECT_EQ(sink_.held[2].reply_bytes, kLarge);
    EXPECT_EQ(sink_.held[2].thread_bytes, sink_.held[0].thread_bytes);
    EXPECT_GT(sink_.held[3].thread_bytes, 2 * kLarge);
    EXPECT_EQ(sink_.held[3].reply_bytes, 0u);
  }
};

TEST_F(HeldBytesTest, GrowWithARequestAndItsReply) {
  RunOk(Ask(std::string(kLarge, 'x')));
  ExpectGrowth();
}

TEST_F(HeldBytesTest, CountAReplyThatIsNotStreamed) {
  sink_.deltas = false;
  RunOk(Ask(std::string(kLarge, 'x')));
  ExpectGrowth();
}

TEST_F(HeldBytesTest, ReportNoSmallSteps) {
  model_.script = {
      {.pieces = std::vector<std::string>(1000, "1234567890"), .calls = {}, .failure = {}}};
  RunOk(Ask("hi"));
  EXPECT_EQ(sink_.held.size(), 2u);
}

}  // namespace
}  // namespace agent_graph::run

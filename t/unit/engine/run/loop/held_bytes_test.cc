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

class LargeThreadTest : public RunTest {
 protected:
  void SetUp() override {
    RunTest::SetUp();
    AddAgentWithTools({});
    model_.script = {{.pieces = {"one"}, .calls = {}, .failure = {}},
                     {.pieces = {"two"}, .calls = {}, .failure = {}}};
    RunOk(Ask("hi"));
    state_.omitted_bytes = 1'000'000;
  }
};

TEST_F(LargeThreadTest, IsLoadedOnceThereIsMemory) {
  sink_.on_await = [this] {
    EXPECT_TRUE(sink_.starts.size() == 1) << "the run has not started";
    EXPECT_TRUE(state_.AnyLease());
    return Status::Ok();
  };
  EXPECT_EQ(RunOk(Ask("ho")).messages_json.size(), 4u);
  EXPECT_EQ(sink_.awaited, std::vector<uint64_t>{1'000'000});
}

TEST_F(LargeThreadTest, IsReleasedWithoutMemory) {
  sink_.on_await = [] { return Status(StatusCode::kResourceExhausted, "no memory"); };
  EXPECT_EQ(Run(Ask("ho")).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(sink_.starts.size(), 1u);
  EXPECT_FALSE(state_.AnyLease());
  sink_.on_await = nullptr;
  EXPECT_EQ(RunOk(Ask("ho")).messages_json.size(), 4u);
}

}  // namespace
}  // namespace agent_graph::run

// The memory that a run reports.
#include "../run_fixture.h"
#include "models/call_options.h"

namespace agent_graph::run {
namespace {

constexpr size_t kLarge = 100'000;
const std::string kPiece(kLarge / 2, 'x');

class HeldBytesTest : public RunTest {
 protected:
  HeldBytesTest() {
    AddAgentWithTools({});
    model_.script = {{.pieces = {kPiece, kPiece}, .calls = {}, .failure = {}}};
  }

  // The thread of before, the reply in two steps, and the thread with the reply. The run waits for
  // the memory of each step and of the thread.
  void ExpectGrowth() const {
    ASSERT_EQ(sink_.held.size(), 4u);
    EXPECT_GT(sink_.held[0].thread_bytes, kLarge);
    EXPECT_EQ(sink_.held[0].reply_bytes, 0u);
    EXPECT_EQ(sink_.held[1].reply_bytes, kLarge / 2 * 3 / 2);
    EXPECT_EQ(sink_.held[2].reply_bytes, kLarge * 3 / 2);
    EXPECT_EQ(sink_.held[2].thread_bytes, sink_.held[0].thread_bytes);
    EXPECT_GT(sink_.held[3].thread_bytes, 2 * kLarge);
    EXPECT_EQ(sink_.held[3].reply_bytes, 0u);
    ASSERT_EQ(sink_.awaited_in_all.size(), 3u);
    EXPECT_EQ(sink_.awaited_in_all[1].reply_bytes, kLarge * 3 / 2);
    EXPECT_EQ(sink_.awaited_in_all[2].thread_bytes, sink_.held[0].thread_bytes + kLarge);
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

// A client may choose their size, and they are a part of no message.
TEST_F(HeldBytesTest, CountToolsConfigAndOptionsOfTheRequest) {
  RunOk(Ask("hi"));
  const uint64_t before = sink_.held.front().thread_bytes;
  const std::string large(kLarge, 'x');
  RunRequest request = Ask("hi");
  request.config = std::make_shared<const json>(json{{"large", large}});
  request.client_tools = {ClientTool{"look", large, R"({"type":"object"})"}};
  request.call_options =
      std::make_shared<const models::CallOptions>(models::CallOptions{.instructions = large});
  model_.script = {{.pieces = {kPiece}, .calls = {}, .failure = {}}};
  sink_.held.clear();
  RunOk(std::move(request));
  EXPECT_GT(sink_.held.front().thread_bytes, before + 3 * kLarge);
}

using HeldBytesOfFunctionTest = RunTest;

TEST_F(HeldBytesOfFunctionTest, CountRepliesOfItsModel) {
  model_.script = {{.pieces = {kPiece, kPiece}, .calls = {}, .failure = {}}};
  builder_.AddFunction("A", [](const State& state, RunContext& context) -> NodeResult {
    return context.CallModel({.messages = state.messages(), .stream = false});
  });
  builder_.AddEdge(START, "A");
  RunOk(Ask("hi"));
  EXPECT_EQ(sink_.awaited_in_all.size(), 2u);
  EXPECT_EQ(sink_.held[sink_.held.size() - 2].reply_bytes, kLarge * 3 / 2);
}

// Arguments of tool calls, for example.
TEST_F(HeldBytesTest, CountAReplyWithoutText) {
  model_.script = {{.pieces = {}, .calls = {}, .failure = {}, .hidden_bytes = kLarge}};
  RunOk(Ask("hi"));
  EXPECT_EQ(sink_.awaited_in_all.front().reply_bytes, kLarge * 3 / 2);
  EXPECT_EQ(sink_.held[sink_.held.size() - 2].reply_bytes, kLarge * 3 / 2);
}

TEST_F(HeldBytesOfFunctionTest, CountAStreamedReplyWithoutText) {
  model_.script = {{.pieces = {}, .calls = {}, .failure = {}, .hidden_bytes = kLarge}};
  builder_.AddFunction("A", [](const State& state, RunContext& context) -> NodeResult {
    return context.CallModel({.messages = state.messages(), .stream = true});
  });
  builder_.AddEdge(START, "A");
  RunOk(Ask("hi"));
  EXPECT_EQ(sink_.held[sink_.held.size() - 2].reply_bytes, kLarge * 3 / 2);
}

TEST_F(HeldBytesTest, EndARunWhoseReplyGetsNoMemory) {
  sink_.on_await_in_all = [] { return Status(StatusCode::kResourceExhausted, "no memory"); };
  const Result<RunOutcome> outcome = Run(Ask("hi"));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->status, RunStatus::kError);
  EXPECT_EQ(outcome->error.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(sink_.awaited_in_all.size(), 1u) << "the model is not called again";
}

TEST_F(HeldBytesTest, KeepACompleteReplyWithoutMemory) {
  sink_.on_await_in_all = [this] {
    const bool is_complete = sink_.awaited_in_all.size() == 3;
    return is_complete ? Status(StatusCode::kResourceExhausted, "no memory") : Status::Ok();
  };
  EXPECT_EQ(json::parse(RunOk(Ask("hi")).messages_json).size(), 2u);
  EXPECT_EQ(sink_.awaited_in_all.size(), 3u);
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
  EXPECT_EQ(json::parse(RunOk(Ask("ho")).messages_json).size(), 4u);
  EXPECT_EQ(sink_.awaited, std::vector<uint64_t>{1'000'000});
}

TEST_F(LargeThreadTest, IsReleasedWithoutMemory) {
  sink_.on_await = [] { return Status(StatusCode::kResourceExhausted, "no memory"); };
  EXPECT_EQ(Run(Ask("ho")).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(sink_.starts.size(), 1u);
  EXPECT_FALSE(state_.AnyLease());
  sink_.on_await = nullptr;
  EXPECT_EQ(json::parse(RunOk(Ask("ho")).messages_json).size(), 4u);
}

}  // namespace
}  // namespace agent_graph::run

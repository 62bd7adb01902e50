// Nodes that stream text and call models.
#include "../run_fixture.h"
#include "state/requests.h"

namespace agent_graph::run {
namespace {

class RunLoopModelsTest : public RunTest {};

TEST_F(RunLoopModelsTest, TextThatANodeStreamsHasTheIdOfItsMessage) {
  builder_.AddFunction("A", [](const State&, RunContext& context) -> NodeResult {
    EXPECT_TRUE(context.EmitText("Hel"));
    EXPECT_TRUE(context.EmitText("lo"));
    return Message::Assistant("Hello");
  });
  builder_.AddEdge(START, "A");
  RunOk(Ask("hi"));
  auto deltas = sink_.Of(RunEvent::Kind::kMessageDelta);
  auto messages = sink_.Of(RunEvent::Kind::kMessage);
  ASSERT_EQ(deltas.size(), 2u);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(deltas[0].at("message_id"), messages[0].at("message_id"));
  EXPECT_EQ(TextOf(deltas[0]) + TextOf(deltas[1]), TextOf(messages[0]));
}

TEST_F(RunLoopModelsTest, ANodeMayAskAModelFromItsThread) {
  model_.script = {{.pieces = {"four", "teen"}, .calls = {}, .failure = {}}};
  builder_.AddFunction("A", [](const State& state, RunContext& context) -> NodeResult {
    return context.CallModel({.system_prompt = "Count.", .messages = state.messages()});
  });
  builder_.AddEdge(START, "A");
  RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(TextOf(json::parse(outcome.messages_json).back()), "fourteen");
  auto deltas = sink_.Of(RunEvent::Kind::kMessageDelta);
  ASSERT_EQ(deltas.size(), 2u);
  EXPECT_EQ(deltas[0].at("message_id"), json::parse(outcome.messages_json).back().at("message_id"));
  EXPECT_EQ(model_.requests.at(0).system_prompt, "Count.");
}

// A lookup that failed would give the message another id than its pieces have.
TEST_F(RunLoopModelsTest, IdsOfStreamedMessagesAreNotLookedUp) {
  builder_.AddAgent("MAIN", {});
  builder_.AddFunction("A", [](const State&, RunContext& context) -> NodeResult {
    EXPECT_TRUE(context.EmitText("Hello"));
    return Message::Assistant("Hello");
  });
  builder_.AddFunction("B", [](const State&, RunContext& context) -> NodeResult {
    return context.CallModel({.messages = {Message::User("x")}});
  });
  builder_.AddEdge(START, "MAIN").AddEdge("MAIN", "A").AddEdge("A", "B");
  model_.script = {{.pieces = {"1"}}, {.pieces = {"2"}}, {.pieces = {"3"}}, {.pieces = {"4"}}};
  RunOk(Ask("hi"));
  sink_.events.clear();
  EXPECT_CALL(state_, GetMessage).Times(0);
  RunOk(Ask("hi"));
  const auto deltas = sink_.Of(RunEvent::Kind::kMessageDelta);
  const auto messages = sink_.Of(RunEvent::Kind::kMessage);
  ASSERT_EQ(deltas.size(), 3u);
  ASSERT_EQ(messages.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(deltas[i].at("message_id"), messages[i].at("message_id"));
  }
}

TEST_F(RunLoopModelsTest, AModelFailureReachesTheNodeAsAnException) {
  model_.script = {{.pieces = {}, .calls = {}, .failure = Status(StatusCode::kModel, "no quota")}};
  builder_.AddFunction("A", [](const State&, RunContext& context) -> NodeResult {
    try {
      return context.CallModel({});
    } catch (const ModelError& failure) {
      return Message::Assistant(failure.what());
    }
  });
  builder_.AddEdge(START, "A");
  EXPECT_EQ(TextOf(json::parse(RunOk(Ask("hi")).messages_json).back()), "no quota");
}

TEST_F(RunLoopModelsTest, TheIdOfAStreamedTextIsThatOfTheFirstAnswerWithoutOne) {
  builder_.AddFunction("A", [](const State&, RunContext& context) -> NodeResult {
    EXPECT_TRUE(context.EmitText("Hello"));
    NodeResult result;
    result.messages = {Message::User("quoted"), Message::Assistant("named"),
                       Message::Assistant("Hello"), Message::Assistant("more")};
    result.messages[1].id = "mine";
    return result;
  });
  builder_.AddEdge(START, "A");
  const RunOutcome outcome = RunOk(Ask("hi"));
  const json delta = sink_.Of(RunEvent::Kind::kMessageDelta).at(0);
  std::vector<bool> same;
  for (const json& message : json::parse(outcome.messages_json)) {
    same.push_back(message.at("message_id") == delta.at("message_id"));
  }
  EXPECT_EQ(same, (std::vector<bool>{false, false, false, true, false}));
  EXPECT_EQ(json::parse(outcome.messages_json)[2].at("message_id"), "mine");
}

TEST_F(RunLoopModelsTest, AModelCallOfANodeIsLikeThatOfAnAgent) {
  Message calling = Message::Assistant("");
  calling.content.emplace_back(ToolCallBlock{"c1", "add", "{}", false});
  builder_.AddFunction(
      "A",
      [calling](const State&, RunContext& context) -> NodeResult {
        return context.CallModel({.messages = {Message::User("hi"), calling},
                                  .parameters_json = R"({"temperature":0})"});
      },
      Execution::kNonBlocking, std::chrono::hours(1));
  builder_.AddEdge(START, "A");
  model_.script = {{.pieces = {"yes"}}};
  EXPECT_EQ(RunOk(Ask("hi")).status, RunStatus::kDone);
  const models::ModelRequest& asked = model_.requests.at(0);
  EXPECT_EQ(asked.parameters_json, R"({"temperature":0})");
  EXPECT_NE(asked.deadline, kNoDeadline);
  ASSERT_EQ(asked.messages.size(), 3u) << "a call without a result gets one";
  EXPECT_TRUE(asked.messages[2].ToolResults().at(0)->is_error);
}

}  // namespace
}  // namespace agent_graph::run

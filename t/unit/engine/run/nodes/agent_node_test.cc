#include <set>

#include "../run_fixture.h"

namespace agent_graph::run {
namespace {

class AgentNodeTest : public RunTest {
 protected:
  static Tool Echo() {
    Tool tool;
    tool.name = "echo";
    tool.description = "Says it again.";
    tool.function = [](const json& arguments, ToolContext&) -> ToolOutput { return arguments; };
    tool.idempotent = true;
    return tool;
  }
  static ToolCallBlock Call(std::string id) { return {std::move(id), "echo", R"({"x":1})", false}; }
};

TEST_F(AgentNodeTest, PiecesThenTheWholeMessageUnderOneId) {
  model_.script = {{.pieces = {"Hel", "lo"}, .calls = {}, .failure = {}}};
  builder_.AddAgent("MAIN", {}).AddEdge(START, "MAIN");
  RunOutcome outcome = RunOk(Ask("hi"));
  auto deltas = sink_.Of(RunEvent::Kind::kMessageDelta);
  auto messages = sink_.Of(RunEvent::Kind::kMessage);
  ASSERT_EQ(deltas.size(), 2u);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(deltas[0].at("delta"), true);
  EXPECT_EQ(messages[0].at("delta"), false);
  EXPECT_EQ(deltas[1].at("message_id"), messages[0].at("message_id"));
  EXPECT_EQ(TextOf(messages[0]), "Hello");
  EXPECT_TRUE(deltas[0].at("usages").is_null());
  EXPECT_EQ(messages[0].at("usages").at("total_tokens"), 5);
  EXPECT_EQ(messages[0].at("metadata").at("model"), "scripted-1");
  EXPECT_EQ(sink_.events.front().node, "MAIN");
  EXPECT_EQ(json::parse(outcome.messages_json).back(), messages[0]);
}

TEST_F(AgentNodeTest, NoPiecesIfTheSinkOrTheAgentDoesNotStream) {
  model_.script = {{.pieces = {"a"}, .calls = {}, .failure = {}},
                   {.pieces = {"b"}, .calls = {}, .failure = {}}};
  builder_.AddAgent("MAIN", {.stream = false}).AddEdge(START, "MAIN");
  RunOk(Ask("hi"));
  sink_.deltas = false;
  RunOk(Ask("hi"));
  EXPECT_TRUE(sink_.Of(RunEvent::Kind::kMessageDelta).empty());
  EXPECT_EQ(sink_.Of(RunEvent::Kind::kMessage).size(), 2u);
}

TEST_F(AgentNodeTest, TheModelReceivesPromptToolsSummaryAndParameters) {
  model_.script = {{.pieces = {"ok"}, .calls = {}, .failure = {}}};
  builder_.AddAgent("MAIN", {.system_prompt = "Be kind.",
                             .tool_node = "TOOLS",
                             .parameters_json = R"({"temperature":0})"});
  builder_.AddToolNode("TOOLS", {Echo()});
  builder_.AddEdge(START, "MAIN");
  builder_.AddConditionalEdge("MAIN", ToolCallsPending("TOOLS"), {"TOOLS", END});
  builder_.AddEdge("TOOLS", "MAIN");
  RunRequest request = Ask("hi");
  request.initial_state =
      std::make_shared<const json>(json::parse(R"({"context_summary":"They met."})"));
  RunOk(request);
  ASSERT_EQ(model_.requests.size(), 1u);
  const models::ModelRequest& asked = model_.requests[0];
  EXPECT_NE(asked.system_prompt.find("Be kind."), std::string::npos);
  EXPECT_NE(asked.system_prompt.find("They met."), std::string::npos);
  EXPECT_EQ(asked.parameters_json, R"({"temperature":0})");
  ASSERT_EQ(asked.tools.size(), 1u);
  EXPECT_EQ(asked.tools[0].name, "echo");
  ASSERT_EQ(asked.messages.size(), 1u);
  EXPECT_EQ(asked.messages[0].Text(), "hi");
}

TEST_F(AgentNodeTest, CallsToolsAndAnswers) {
  AddAgentWithTools({Echo()});
  model_.script = {{.pieces = {"Let me see."}, .calls = {Call("c1")}, .failure = {}},
                   {.pieces = {"Done."}, .calls = {}, .failure = {}}};
  RunOutcome outcome = RunOk(Ask("hi"));
  ASSERT_EQ(json::parse(outcome.messages_json).size(), 4u);
  json result = json::parse(outcome.messages_json)[2];
  EXPECT_EQ(result.at("role"), "tool");
  EXPECT_EQ(result.at("content").at(0).at("call_id"), "c1");
  EXPECT_EQ(result.at("content").at(0).at("output"), json({{"x", 1}}));
  ASSERT_EQ(model_.requests.size(), 2u);
  ASSERT_EQ(model_.requests[1].messages.size(), 3u);
  EXPECT_EQ(model_.requests[1].messages[2].ToolResults().size(), 1u);
}

TEST_F(AgentNodeTest, CallIdsThatRepeatOrAreMissingAreReplaced) {
  AddAgentWithTools({Echo()});
  model_.script = {
      {.pieces = {}, .calls = {Call("call_0"), Call("call_0"), Call("")}, .failure = {}},
      {.pieces = {}, .calls = {Call("call_0")}, .failure = {}},
      {.pieces = {"Done."}, .calls = {}, .failure = {}}};
  RunOutcome outcome = RunOk(Ask("hi"));
  ASSERT_EQ(outcome.status, RunStatus::kDone) << outcome.error.ToString();
  std::set<std::string> ids;
  for (const json& message : json::parse(outcome.messages_json)) {
    for (const json& block : message.at("content")) {
      if (block.at("type") == "tool_result") ids.insert(block.at("call_id").get<std::string>());
    }
  }
  EXPECT_EQ(ids.size(), 4u);
  EXPECT_FALSE(ids.contains(""));
}

TEST_F(AgentNodeTest, AModelFailureIsTheRunsError) {
  model_.script = {{.pieces = {"par"},
                    .calls = {},
                    .failure = Status(StatusCode::kModel, "the provider answered 500")}};
  builder_.AddAgent("MAIN", {}).AddEdge(START, "MAIN");
  RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.error.code(), StatusCode::kModel);
  EXPECT_EQ(outcome.error.message(), "the provider answered 500");
  EXPECT_EQ(json::parse(outcome.messages_json).size(), 1u);
  EXPECT_EQ(sink_.Of(RunEvent::Kind::kError).at(0).at("code"), "MODEL");
}

TEST_F(AgentNodeTest, AnUnknownModelIsTheRunsError) {
  builder_.AddAgent("MAIN", {.model = "nobody"}).AddEdge(START, "MAIN");
  const RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.error.code(), StatusCode::kModel);
  EXPECT_EQ(outcome.error.message(), "model \"nobody\" is not configured");
}

TEST_F(AgentNodeTest, AThrowingProviderOnlyEndsTheRun) {
  model_.script = {{.pieces = {}, .calls = {}, .failure = {}, .throws = true}};
  builder_.AddAgent("MAIN", {}).AddEdge(START, "MAIN");
  EXPECT_EQ(RunOk(Ask("hi")).error.code(), StatusCode::kInternal);
}

TEST_F(AgentNodeTest, AClientThatLeavesEndsTheModelCallAtOnce) {
  model_.script = {{.pieces = {"Hel"}, .calls = {}, .failure = {}, .wait_for_cancel = true}};
  model_.on_wait = [this] { cancellation_.Cancel(runtime::CancelReason::kClientGone); };
  builder_.AddAgent("MAIN", {}).AddEdge(START, "MAIN");
  RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, RunStatus::kStopped);
  EXPECT_EQ(state_.At("t1").last_status, "stopped");
  const state::LogEntry& last = state_.At("t1").log.back();
  EXPECT_EQ(last.kind, "run_finished");
  EXPECT_EQ(json::parse(last.json).at("reason"), "client_gone");
}

TEST_F(AgentNodeTest, ASinkThatFailsDuringAPieceEndsTheCall) {
  model_.script = {{.pieces = {"a", "b", "c"}, .calls = {}, .failure = {}}};
  builder_.AddAgent("MAIN", {}).AddEdge(START, "MAIN");
  sink_.on_event = [](const RunEvent&) { return Status(StatusCode::kCancelled, "gone"); };
  EXPECT_EQ(RunOk(Ask("hi")).status, RunStatus::kStopped);
  EXPECT_EQ(sink_.events.size(), 1u);
}

TEST_F(AgentNodeTest, ADeadlineDuringTheCallIsAnError) {
  model_.script = {{.pieces = {}, .calls = {}, .failure = {}, .wait_for_cancel = true}};
  builder_.AddAgent("MAIN", {}).AddEdge(START, "MAIN");
  RunRequest request = Ask("hi");
  request.deadline = DeadlineAfter(std::chrono::milliseconds(20));
  EXPECT_EQ(RunOk(request).error.code(), StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace agent_graph::run

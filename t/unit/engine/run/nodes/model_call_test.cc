// The request that a model gets, and the entries of the run log for its answer.
#include "../run_fixture.h"
#include "message/codec.h"

namespace agent_graph::run {
namespace {

class ModelCallTest : public RunTest {
 protected:
  // The only entry of `kind` in the run log.
  json Entry(const std::string& kind) {
    std::vector<json> found;
    for (const state::LogEntry& entry : state_.At("t1").log) {
      if (entry.kind == kind) found.push_back(json::parse(entry.json));
    }
    EXPECT_EQ(found.size(), 1u) << kind;
    return found.empty() ? json::object() : found[0];
  }
  static void ExpectDuration(const json& entry) {
    constexpr int64_t kHourMicros = 3'600'000'000;
    EXPECT_GE(entry.at("duration_micros").get<int64_t>(), 0);
    EXPECT_LT(entry.at("duration_micros").get<int64_t>(), kHourMicros);
  }
};

TEST_F(ModelCallTest, TheLogNamesModelAndUsage) {
  model_.script = {{.pieces = {"Hello"}}};
  builder_.AddAgent("MAIN", {}).AddEdge(START, "MAIN");
  const RunOutcome outcome = RunOk(Ask("hi"));
  json entry = Entry("model_finished");
  ExpectDuration(entry);
  entry.erase("duration_micros");
  EXPECT_EQ(entry, json({{"node", "MAIN"},
                         {"model_name", "default"},
                         {"model", "scripted-1"},
                         {"stop_reason", "stop"},
                         {"message_id", json::parse(outcome.messages_json).back()["message_id"]},
                         {"input_tokens", 3},
                         {"output_tokens", 2}}));
}

TEST_F(ModelCallTest, TheLogNamesAFailure) {
  model_.script = {{.failure = Status(StatusCode::kModel, "no \"quota\"")}};
  builder_.AddAgent("MAIN", {}).AddEdge(START, "MAIN");
  RunOk(Ask("hi"));
  json entry = Entry("model_failed");
  ExpectDuration(entry);
  entry.erase("duration_micros");
  EXPECT_EQ(entry, json({{"node", "MAIN"},
                         {"model_name", "default"},
                         {"code", "MODEL"},
                         {"reason", "no \"quota\""}}));
}

TEST_F(ModelCallTest, TheSummaryFollowsThePrompt) {
  builder_.AddAgent("MAIN", {.system_prompt = "Be kind."}).AddEdge(START, "MAIN");
  const std::string summary = "Summary of the conversation before these messages:\nThey met.";
  for (const auto& [stored, prompt] :
       {std::pair(std::string(R"("They met.")"), "Be kind.\n\n" + summary),
        {R"("")", "Be kind."},
        {"null", "Be kind."}}) {
    model_.script = {{.pieces = {"ok"}}};
    RunRequest request = Ask("hi");
    request.initial_state =
        std::make_shared<const json>(json::parse(R"({"context_summary":)" + stored + "}"));
    RunOk(request);
    EXPECT_EQ(model_.requests.back().system_prompt, prompt);
  }
}

TEST_F(ModelCallTest, WithoutAPromptTheSummaryStandsAlone) {
  builder_.AddAgent("MAIN", {}).AddEdge(START, "MAIN");
  model_.script = {{.pieces = {"ok"}}};
  RunRequest request = Ask("hi");
  request.initial_state =
      std::make_shared<const json>(json::parse(R"({"context_summary":"They met."})"));
  RunOk(request);
  EXPECT_EQ(model_.requests.at(0).system_prompt,
            "Summary of the conversation before these messages:\nThey met.");
}

// A client may have appended more messages than the context policy lets through.
TEST_F(ModelCallTest, OldMessagesOfALongWindowAreNotSent) {
  builder_.SetContext({.messages_max = 3});
  builder_.AddAgent("MAIN", {}).AddEdge(START, "MAIN");
  uint64_t sequence = 0;
  for (const char* text : {"one", "two", "three"}) {
    for (Message message : {Message::User(text), Message::Assistant(text)}) {
      message.id = "m" + std::to_string(++sequence);
      state_.At("t1").state.window.push_back({message.id, sequence, message::ToJsonText(message)});
    }
  }
  model_.script = {{.pieces = {"ok"}}};
  RunOk(Ask("four"));
  std::vector<std::string> sent;
  for (const Message& message : model_.requests.at(0).messages) sent.push_back(message.Text());
  EXPECT_EQ(sent, (std::vector<std::string>{"three", "three", "four"}));
}

TEST_F(ModelCallTest, AnOutputFieldReceivesTheTextInsteadOfTheClient) {
  builder_.AddField({.name = "verdict"});
  builder_.AddAgent("JUDGE", {.output_field = "verdict"}).AddEdge(START, "JUDGE");
  const std::string half(50'000, 'x');
  model_.script = {{.pieces = {half, half}}};
  const RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(json::parse(outcome.state_json).at("verdict"), half + half);
  EXPECT_EQ(json::parse(outcome.messages_json).size(), 1u);
  EXPECT_TRUE(sink_.Of(RunEvent::Kind::kMessageDelta).empty());
  EXPECT_TRUE(sink_.Of(RunEvent::Kind::kMessage).empty());
  // While the reply arrives, 1.5 times the size of its text is counted, so that it can grow.
  std::vector<uint64_t> held;
  for (const RecordingSink::Held& each : sink_.held) {
    if (each.reply_bytes > 0) held.push_back(each.reply_bytes);
  }
  EXPECT_EQ(held, (std::vector<uint64_t>{75'000, 150'000}));
}

TEST_F(ModelCallTest, AnAgentIsOfferedOnlyToolsWithItsTags) {
  std::vector<Tool> tools(3);
  for (size_t i = 0; i < tools.size(); ++i) {
    tools[i].name = "tool" + std::to_string(i);
    tools[i].description = "Tool number " + std::to_string(i);
    tools[i].function = [](const json&, ToolContext&) -> ToolOutput { return "done"; };
  }
  tools[0].tags = {"weather", "free"};
  tools[1].tags = {"money"};
  builder_.AddAgent("MAIN", {.tool_node = "TOOLS", .tools_tags = {"free", "slow"}});
  builder_.AddToolNode("TOOLS", tools);
  builder_.AddEdge(START, "MAIN").AddEdge("TOOLS", "MAIN");
  builder_.AddConditionalEdge("MAIN", ToolCallsPending("TOOLS"), {"TOOLS", END});
  model_.script = {{.pieces = {"ok"}}};
  RunOk(Ask("hi"));
  ASSERT_EQ(model_.requests.at(0).tools.size(), 1u);
  EXPECT_EQ(model_.requests[0].tools[0].name, "tool0");
  EXPECT_EQ(model_.requests[0].tools[0].description, "Tool number 0");
}

}  // namespace
}  // namespace agent_graph::run

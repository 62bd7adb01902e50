// Tools that ask the user: how a run pauses with the questions and goes on with the answers.
#include "run/context/open_inputs.h"

#include <gmock/gmock.h>

#include "../run_fixture.h"
#include "tools/call/engine_tool_context.h"

namespace agent_graph::run {
namespace {

using ::testing::HasSubstr;

constexpr char kForm[] =
    R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","default":30}},
        "required":["name"]})";

tools::Question Form(std::string key) {
  return {.key = std::move(key), .message = "Who?", .schema = json::parse(kForm), .url = {}};
}

class OpenInputsTest : public RunTest {
 protected:
  void SetUp() override {
    RunTest::SetUp();
    Tool ask;
    ask.name = "ask";
    ask.function = [this](const json& arguments, ToolContext& context) {
      return Answer(arguments, context);
    };
    Tool add;
    add.name = "add";
    add.idempotent = true;
    add.function = [](const json&, ToolContext&) -> ToolOutput { return json(2); };
    AddAgentWithTools({ask, add});
    builder_.AddRemoteTool("TOOLS", {.name = "locate"});
  }

  // Asks "rounds" times, "count" questions each time; then returns the last answers.
  ToolOutput Answer(const json& arguments, ToolContext& context) {
    tools::CallInput* const input = dynamic_cast<tools::EngineToolContext&>(context).input();
    if (input == nullptr) return "nobody to ask";
    const int round = input->continuation.is_null() ? 0 : input->continuation.get<int>();
    if (round >= arguments.value("rounds", 1)) {
      json told = json::array();
      for (const tools::Answered& each : input->answers) {
        told.push_back({each.question.key, each.answer});
      }
      return told;
    }
    input->pause = tools::CallPause{"crm", {}, round + 1};
    for (int i = 0; i < arguments.value("count", 1); ++i) {
      input->pause->questions.push_back(Form("q" + std::to_string(i)));
      input->pause->questions.back().message += arguments.value("more", "");
    }
    return "not seen";
  }

  static ToolCallBlock Call(std::string id, std::string name, std::string arguments = "{}") {
    return {std::move(id), std::move(name), std::move(arguments), false};
  }
  void Script(std::vector<ToolCallBlock> calls) {
    model_.script = {{.pieces = {}, .calls = std::move(calls), .failure = {}},
                     {.pieces = {"Done."}, .calls = {}, .failure = {}}};
  }
  static RunRequest Resume(std::vector<Message> messages) {
    RunRequest request;
    request.thread_id = "t1";
    request.messages = std::move(messages);
    return request;
  }
  static Message Accept(const std::string& id, const std::string& name) {
    const json answer = {{"action", "accept"}, {"content", {{"name", name}}}};
    return Message::ToolResult(id, answer.dump());
  }
  static json Interrupt(const RunOutcome& outcome) {
    return json::parse(outcome.state_json).at("execution_meta").at("interrupt");
  }
  static std::vector<json> Results(const RunOutcome& outcome) {
    std::vector<json> results;
    for (const json& message : json::parse(outcome.messages_json)) {
      for (const json& block : message.at("content")) {
        if (block.at("type") == "tool_result") results.push_back(block);
      }
    }
    return results;
  }
  std::string Problem(const RunRequest& request) { return Run(request).status().message(); }
};

TEST_F(OpenInputsTest, ARunPausesWithTheQuestionAndResumesWithTheAnswer) {
  Script({Call("c1", "ask"), Call("c2", "add")});
  RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, RunStatus::kInterrupted);
  const json interrupt = Interrupt(outcome);
  EXPECT_EQ(interrupt.at("reason"), "a tool asks the user");
  EXPECT_EQ(interrupt.at("data"), json({{"elicitations",
                                         {{{"id", "c1/1"},
                                           {"call_id", "c1"},
                                           {"tool", "ask"},
                                           {"server", "crm"},
                                           {"mode", "form"},
                                           {"message", "Who?"},
                                           {"requested_schema", json::parse(kForm)}}}}}));
  EXPECT_EQ(Results(outcome).size(), 1u) << "of the other call";
  EXPECT_THAT(outcome.state_json, ::testing::Not(HasSubstr("continuation")));

  outcome = RunOk(Resume({Accept("c1/1", "Bob")}));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  const auto results = Results(outcome);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1].at("call_id"), "c1");
  EXPECT_EQ(results[1].at("output"),
            json::parse(R"([["q0",{"action":"accept","content":{"age":30,"name":"Bob"}}]])"));
  EXPECT_EQ(json::parse(outcome.messages_json).size(), 5u) << "the answer itself is no message";
}

TEST_F(OpenInputsTest, SeveralQuestionsAreAnsweredOneByOne) {
  Script({Call("c1", "ask", R"({"count":2})"), Call("c2", "ask")});
  RunOk(Ask("hi"));
  RunOutcome outcome = RunOk(Resume({Accept("c1/2", "B"), Accept("c2/1", "C")}));
  EXPECT_EQ(outcome.status, RunStatus::kInterrupted);
  ASSERT_EQ(Results(outcome).size(), 1u) << "c2 has all it asked for";
  const json left = Interrupt(outcome).at("data").at("elicitations");
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].at("id"), "c1/1");
  outcome = RunOk(Resume({Message::ToolResult("c1/1", R"({"action":"decline"})")}));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_EQ(Results(outcome).back().at("output").at(0).at(1), json({{"action", "decline"}}));
  EXPECT_EQ(Results(outcome).back().at("output").at(1).at(1).at("content").at("name"), "B");
}

TEST_F(OpenInputsTest, AToolMayAskAgainUpToALimit) {
  Script({Call("c1", "ask", R"({"rounds":3})")});
  RunOk(Ask("hi"));
  EXPECT_EQ(RunOk(Resume({Accept("c1/1", "B")})).status, RunStatus::kInterrupted);
  EXPECT_EQ(RunOk(Resume({Accept("c1/1.2", "B")})).status, RunStatus::kInterrupted);
  EXPECT_EQ(RunOk(Resume({Accept("c1/1.3", "B")})).status, RunStatus::kDone);

  Script({Call("c2", "ask", R"({"rounds":1000})")});
  RunOutcome outcome = RunOk(Ask("again"));
  int rounds = 0;
  for (; outcome.status == RunStatus::kInterrupted; ++rounds) {
    const std::string round = rounds == 0 ? "" : "." + std::to_string(rounds + 1);
    outcome = RunOk(Resume({Accept("c2/1" + round, "B")}));
  }
  EXPECT_EQ(rounds, tools::kQuestionRoundsMax);
  EXPECT_THAT(Results(outcome).back().dump(), HasSubstr("asks the user again and again"));
}

TEST_F(OpenInputsTest, AnAnswerThatIsSentAgainAnswersNoLaterQuestion) {
  Script({Call("c1", "ask", R"({"rounds":2})")});
  RunOk(Ask("hi"));
  EXPECT_EQ(
      Interrupt(RunOk(Resume({Accept("c1/1", "B")}))).at("data").at("elicitations").at(0).at("id"),
      "c1/1.2");
  EXPECT_NE(Problem(Resume({Accept("c1/1", "B")})), "");
  EXPECT_EQ(RunOk(Resume({Accept("c1/1.2", "B")})).status, RunStatus::kDone);
}

TEST_F(OpenInputsTest, AnswersThatDoNotFitAreRefusedAndChangeNothing) {
  Script({Call("c1", "ask")});
  RunOk(Ask("hi"));
  const auto answer = [&](const char* output) {
    return Problem(Resume({Message::ToolResult("c1/1", output)}));
  };
  EXPECT_EQ(answer(R"({"action":"accept","content":{}})"),
            "message 0: the answer to \"c1/1\": content: name: is missing");
  EXPECT_THAT(answer(R"({"action":"accept","content":{"name":5}})"), HasSubstr("must be a string"));
  EXPECT_THAT(answer(R"({"action":"accept","content":[]})"), HasSubstr("must be an object"));
  EXPECT_THAT(answer(R"("yes")"), HasSubstr("must be an object with \"action\""));
  EXPECT_THAT(answer(R"({"action":"maybe"})"), HasSubstr("must be an object with \"action\""));
  EXPECT_THAT(Problem(Resume({Accept("c1/2", "B")})), HasSubstr("\"c1/2\" waits for a result"));
  Message plain;
  plain.role = Role::kTool;
  plain.content.emplace_back(TextBlock{"Bob"});
  EXPECT_THAT(Problem(Resume({plain})), HasSubstr("no tool call waits for a result"));
  EXPECT_FALSE(state_.AnyLease());
  EXPECT_EQ(RunOk(Resume({Accept("c1/1", "B")})).status, RunStatus::kDone);
}

TEST_F(OpenInputsTest, AFailedAnswerIsACancelledOne) {
  Script({Call("c1", "ask")});
  RunOk(Ask("hi"));
  const RunOutcome outcome = RunOk(Resume({Message::ToolResult("c1/1", R"("closed")", true)}));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_EQ(Results(outcome).at(0).at("output").at(0).at(1), json({{"action", "cancel"}}));
}

TEST_F(OpenInputsTest, AUserWhoContinuesWithoutAnswering) {
  Script({Call("c1", "ask")});
  RunOk(Ask("hi"));
  const RunOutcome outcome = RunOk(Ask("never mind"));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  const json result = Results(outcome).at(0);
  EXPECT_EQ(result.at("is_error"), true);
  EXPECT_EQ(result.at("output").at("error"),
            "the user went on without answering what the tool asked");
}

TEST_F(OpenInputsTest, AClientThatGivesTheResultItself) {
  Script({Call("c1", "ask")});
  RunOk(Ask("hi"));
  const RunOutcome outcome = RunOk(Resume({Message::ToolResult("c1", R"("mine")")}));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_EQ(Results(outcome).at(0).at("output"), "mine");
}

TEST_F(OpenInputsTest, BesideAToolOfTheClient) {
  Script({Call("c1", "ask"), Call("c2", "locate")});
  RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(Interrupt(outcome).at("reason"),
            "the client has tools to run, and a tool asks the user");
  EXPECT_EQ(Interrupt(outcome).at("data").at("remote_tool_calls").at(0).at("id"), "c2");
  outcome = RunOk(Resume({Message::ToolResult("c2", R"("Rome")")}));
  EXPECT_EQ(outcome.status, RunStatus::kInterrupted);
  EXPECT_EQ(Interrupt(outcome).at("reason"), "a tool asks the user");
  EXPECT_EQ(RunOk(Resume({Accept("c1/1", "B")})).status, RunStatus::kDone);
}

TEST_F(OpenInputsTest, QuestionsThatAreTooLargeToKeep) {
  Script({Call("c1", "ask", json{{"more", std::string(600'000, 'x')}}.dump())});
  const RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_THAT(Results(outcome).at(0).dump(), HasSubstr("cannot ask: the questions are larger"));
}

TEST_F(OpenInputsTest, WithoutACheckpointerNoToolCanAsk) {
  stored_ = false;
  Script({Call("c1", "ask")});
  const RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_EQ(Results(outcome).at(0).at("output"), "nobody to ask");
}

TEST(OpenInputsJsonTest, UnreadableEntriesAreSkipped) {
  for (const char* text :
       {"", "5", "{}", "[5]", "[{}]", R"([{"call_id":"c"}])",
        R"([{"call_id":"c","questions":[5]}])", R"([{"call_id":"c","questions":5}])",
        R"([{"call_id":"c","questions":[{"key":"k"}]}])"}) {
    EXPECT_TRUE(OpenInputs::FromJson(text).empty()) << text;
  }
  OpenInputs inputs;
  const OpenInput call{"c", "t", 2, {"s", {Form("k")}, 7}, {json()}};
  ASSERT_TRUE(inputs.Keep(call).ok());
  const OpenInputs read = OpenInputs::FromJson(inputs.ToJson());
  ASSERT_EQ(read.calls().size(), 1u);
  EXPECT_EQ(read.ToJson(), inputs.ToJson());
  EXPECT_EQ(read.Find("c")->rounds, 2);
  EXPECT_EQ(read.Find("d"), nullptr);
}

TEST_F(OpenInputsTest, AQuestionMayBeAPageToVisit) {
  OpenInputs inputs;
  const tools::Question visit{
      .key = "k", .message = "Sign in", .schema = nullptr, .url = "https://example.org/login"};
  ASSERT_TRUE(inputs.Keep({"c1", "ask", 1, {"crm", {visit}, 1}, {json()}}).ok());
  EXPECT_EQ(json::parse(inputs.ElicitationsJson()), json({{{"id", "c1/1"},
                                                           {"call_id", "c1"},
                                                           {"tool", "ask"},
                                                           {"server", "crm"},
                                                           {"mode", "url"},
                                                           {"message", "Sign in"},
                                                           {"url", "https://example.org/login"}}}));
}

TEST(OpenInputsJsonTest, AnswersThatAreMissingAreOpen) {
  for (const char* answers : {"", R"(,"answers":[])", R"(,"answers":5)", R"(,"answers":[null])"}) {
    const OpenInputs inputs =
        OpenInputs::FromJson(R"([{"call_id":"c","tool":7,"questions":[)" +
                             Form("k").ToJson().dump() + "]" + answers + "}]");
    ASSERT_EQ(inputs.calls().size(), 1u) << answers;
    EXPECT_FALSE(inputs.calls()[0].answered());
    EXPECT_EQ(inputs.calls()[0].tool, "");
    EXPECT_EQ(inputs.calls()[0].rounds, 0);
  }
  EXPECT_TRUE(
      OpenInputs::FromJson(R"([{"call_id":"","questions":[)" + Form("k").ToJson().dump() + "]}]")
          .empty());
}

TEST(OpenInputsJsonTest, ACallAsksOnce) {
  OpenInputs inputs;
  ASSERT_TRUE(inputs.Keep({"c", "t", 1, {"s", {Form("k")}, 7}, {json()}}).ok());
  ASSERT_TRUE(inputs.Keep({"c", "t", 2, {"s", {Form("k")}, 7}, {json()}}).ok());
  ASSERT_EQ(inputs.calls().size(), 1u);
  EXPECT_EQ(inputs.calls()[0].rounds, 2);
}

TEST(OpenInputsJsonTest, AMessageThatNeverHadContentStays) {
  OpenInputs inputs;
  ASSERT_TRUE(inputs.Keep({"c", "t", 1, {"s", {Form("k")}, 7}, {json()}}).ok());
  std::vector<Message> messages = {Message(), Message::ToolResult("c/1", R"({"action":"decline"})"),
                                   Message::User("hi")};
  ASSERT_TRUE(inputs.TakeAnswers(messages).ok());
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_TRUE(messages[0].content.empty());
  EXPECT_EQ(messages[1].Text(), "hi");
}

ToolResultBlock AnswerTo(const std::string& id) {
  ToolResultBlock answer;
  answer.call_id = id;
  answer.output_json = R"({"action":"decline"})";
  return answer;
}

TEST(TakeAnswersTest, OtherBlocksKeepTheirOrder) {
  OpenInputs inputs;
  ASSERT_TRUE(inputs.Keep({"c1", "ask", 1, {"crm", {Form("q"), Form("r")}, 1}, {{}, {}}}).ok());
  std::vector<Message> messages = {Message::User("one"), Message::User("")};
  messages[0].content.emplace_back(AnswerTo("c1/2"));
  messages[0].content.emplace_back(TextBlock{"two"});
  messages[1].content = {AnswerTo("c1/1")};
  EXPECT_TRUE(inputs.TakeAnswers(messages).ok());
  ASSERT_EQ(messages.size(), 1u);
  ASSERT_EQ(messages[0].content.size(), 2u);
  EXPECT_EQ(std::get<TextBlock>(messages[0].content[1]).text, "two");
  EXPECT_TRUE(inputs.Find("c1")->answered());
}

TEST(TakeAnswersTest, AQuestionHasOneAnswer) {
  OpenInputs inputs;
  ASSERT_TRUE(inputs.Keep({"c1", "ask", 1, {"crm", {Form("q")}, 1}, {{}}}).ok());
  std::vector<Message> messages = {Message::User("one"), Message::User("two")};
  for (Message& message : messages) message.content.emplace_back(AnswerTo("c1/1"));
  const Status taken = inputs.TakeAnswers(messages);
  EXPECT_EQ(taken.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(taken.message(), "message 1: the answer to \"c1/1\": the question has two answers");
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].content.size(), 2u);
}

}  // namespace
}  // namespace agent_graph::run

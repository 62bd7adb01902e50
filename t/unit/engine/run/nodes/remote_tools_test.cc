#include "run/nodes/remote_tools.h"

#include "../run_fixture.h"

namespace agent_graph::run {
namespace {

class RemoteToolsTest : public RunTest {
 protected:
  void SetUp() override {
    RunTest::SetUp();
    Tool add;
    add.name = "add";
    add.idempotent = true;
    add.function = [](const json& arguments, ToolContext&) -> ToolOutput {
      return json(arguments.at("a").get<int>() + 1);
    };
    AddAgentWithTools({add});
    builder_.AddRemoteTool(
        "TOOLS",
        {.name = "locate",
         .description = "Where the client is.",
         .parameters_json = R"({"type":"object","properties":{"fine":{"type":"boolean"}}})"});
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
  static Message Plain(const std::string& text) {
    Message message;
    message.role = Role::kTool;
    message.content.emplace_back(TextBlock{text});
    return message;
  }
  static std::vector<json> Blocks(const std::string& messages, const char* type) {
    std::vector<json> blocks;
    for (const json& message : json::parse(messages)) {
      for (const json& block : message.at("content")) {
        if (block.at("type") == type) blocks.push_back(block);
      }
    }
    return blocks;
  }
};

TEST_F(RemoteToolsTest, TheRunPausesAfterTheLocalCallsAndResumes) {
  Script({Call("c1", "locate", R"({"fine":true})"), Call("c2", "add", R"({"a":1})")});
  RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, RunStatus::kInterrupted);
  const auto calls = Blocks(outcome.messages_json, "remote_tool_call");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].at("id"), "c1");
  EXPECT_EQ(calls[0].at("args").at("fine"), true);
  EXPECT_EQ(Blocks(outcome.messages_json, "tool_result").at(0).at("output"), 2);
  EXPECT_EQ(model_.requests.at(0).tools.at(1).name, "locate");

  outcome = RunOk(Resume({Message::ToolResult("c1", R"("Rome")")}));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_TRUE(Blocks(outcome.messages_json, "remote_tool_call").empty());
  EXPECT_EQ(model_.requests.size(), 2u);
}

TEST_F(RemoteToolsTest, TheToolsOfARequestReplaceTheDeclaredOnesForThatRun) {
  Script({Call("c1", "weather", R"({"city":"Oslo"})")});
  RunRequest request = Ask("hi");
  request.client_tools = {{"weather", "The weather.", R"({"type":"object"})"}};
  const RunOutcome outcome = RunOk(request);
  EXPECT_EQ(outcome.status, RunStatus::kInterrupted);
  ASSERT_EQ(model_.requests.at(0).tools.size(), 2u);
  EXPECT_EQ(model_.requests.at(0).tools[0].name, "add");
  EXPECT_EQ(model_.requests.at(0).tools[1].name, "weather");
  EXPECT_EQ(Blocks(outcome.messages_json, "remote_tool_call").at(0).at("name"), "weather");
  EXPECT_EQ(RunOk(Resume({Message::ToolResult("c1", R"("sunny")")})).status, RunStatus::kDone);
  EXPECT_EQ(model_.requests.at(1).tools.at(1).name, "locate");
}

TEST_F(RemoteToolsTest, ATransientRunStoresNothing) {
  EXPECT_CALL(state_, BeginRun).Times(0);
  Script({Call("c1", "weather")});
  RunRequest request = Ask("hi", "");
  request.client_tools = {{"weather", "", R"({"type":"object"})"}};
  request.transient = true;
  EXPECT_EQ(RunOk(request).status, RunStatus::kInterrupted);
  // The client sends the whole conversation, and any results with it.
  Message call = Message::Assistant("");
  call.content.emplace_back(Call("c1", "weather"));
  request.messages.push_back(call);
  request.messages.push_back(Message::ToolResult("c1", R"("sunny")"));
  EXPECT_EQ(RunOk(request).status, RunStatus::kDone);
}

TEST_F(RunTest, AgentsWithoutAToolNodeGetTheToolsOfARequest) {
  builder_.AddAgent("MAIN", {}).AddEdge(START, "MAIN").AddEdge("MAIN", END);
  model_.script = {{.pieces = {}, .calls = {{"c1", "weather", "{}", false}}, .failure = {}}};
  RunRequest request = Ask("hi");
  request.client_tools = {{"weather", "", R"({"type":"object"})"}};
  EXPECT_EQ(RunOk(request).status, RunStatus::kDone);
  EXPECT_EQ(model_.requests.at(0).tools.at(0).name, "weather");
}

TEST_F(RemoteToolsTest, ItWaitsForEveryResultAndAnnouncesEachCallOnce) {
  Script({Call("c1", "locate"), Call("c2", "locate")});
  RunOk(Ask("hi"));
  RunOutcome outcome = RunOk(Resume({Message::ToolResult("c2", "2")}));
  EXPECT_EQ(outcome.status, RunStatus::kInterrupted);
  const auto calls = Blocks(outcome.messages_json, "remote_tool_call");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].at("id"), "c1");
  outcome = RunOk(Resume({Plain("here")}));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_EQ(Blocks(outcome.messages_json, "tool_result").back().at("output"), "here");
}

TEST_F(RemoteToolsTest, ResultsWithoutACallAreRefusedAndChangeNothing) {
  Script({Call("c1", "locate"), Call("c2", "locate")});
  RunOk(Ask("hi"));
  const auto before = state_.At("t1").state.window.size();
  for (const std::vector<Message>& wrong :
       {std::vector{Message::ToolResult("c9", "1")}, std::vector{Plain("which?")},
        std::vector{Message::ToolResult("c1", "1"), Message::ToolResult("c1", "2")}}) {
    EXPECT_EQ(Run(Resume(wrong)).status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(state_.At("t1").state.window.size(), before);
    EXPECT_FALSE(state_.AnyLease());
  }
  EXPECT_EQ(RunOk(Resume({Message::ToolResult("c1", "1"), Message::ToolResult("c2", "2")})).status,
            RunStatus::kDone);
}

TEST_F(RemoteToolsTest, ResultsForAMissingThreadCreateNone) {
  RunRequest request = Resume({Message::ToolResult("c1", "1")});
  EXPECT_EQ(Run(request).status().code(), StatusCode::kInvalidArgument);
  request.thread_id.clear();
  EXPECT_EQ(Run(request).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(state_.GetThread(state::Scope::All(), "t1").status().code(), StatusCode::kNotFound);
}

TEST_F(RemoteToolsTest, AClientThatBringsItsOwnCallsAndResults) {
  Message calling = Message::Assistant("");
  calling.content = {Call("x1", "add", R"({"a":1})")};
  model_.script = {{.pieces = {"Hello."}, .calls = {}, .failure = {}}};
  EXPECT_EQ(RunOk(Resume({Message::User("a"), calling, Message::ToolResult("x1", "2"),
                          Message::User("b")}))
                .status,
            RunStatus::kDone);
}

TEST_F(RemoteToolsTest, AClientThatContinuesWithoutAnswering) {
  Script({Call("c1", "locate")});
  RunOk(Ask("hi"));
  const RunOutcome outcome = RunOk(Ask("never mind"));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_EQ(Blocks(outcome.messages_json, "tool_result").at(0).at("is_error"), true);
}

TEST_F(RemoteToolsTest, ArgumentsAreCheckedHere) {
  Script({Call("c1", "locate", R"({"fine":"yes"})")});
  const RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_TRUE(Blocks(outcome.messages_json, "remote_tool_call").empty());
}

TEST_F(RemoteToolsTest, RegisteredToolsReplaceTheToolsOfTheNode) {
  const auto graph = graph::CompiledGraph::Compile(builder_, "test").value();
  RemoteTools remote_tools(DeclaredRemoteTools(*graph), &state_, "nginx-1", {});
  const auto names = [](const RemoteToolSetPtr& set) {
    std::vector<std::string> found;
    for (const auto& entry : set->Of("TOOLS")) found.push_back(entry->tool.name);
    return found;
  };
  EXPECT_EQ(names(remote_tools.AsOf(0)), std::vector<std::string>{"locate"});
  EXPECT_EQ(state_.remote_tools_reads, 0);
  ASSERT_TRUE(remote_tools.SetUp({{"TOOLS", "a", "", "{}"}, {"TOOLS", "b", "", "{}"}}).ok());
  EXPECT_EQ(names(remote_tools.AsOf(1)), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(names(remote_tools.AsOf(1)), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(state_.remote_tools_reads, 1) << "asked once for each version";
  EXPECT_TRUE(remote_tools.Newest().value()->Of("MAIN").empty());

  RemoteTools after_restart(DeclaredRemoteTools(*graph), &state_, "nginx-2", {});
  EXPECT_EQ(names(after_restart.AsOf(1)), std::vector<std::string>{"locate"});
  RemoteTools unstored({}, nullptr, "nginx-1", {});
  EXPECT_EQ(unstored.SetUp({}).code(), StatusCode::kNotConfigured);
}

TEST_F(RemoteToolsTest, Problems) {
  const auto graph = graph::CompiledGraph::Compile(builder_, "test").value();
  const auto field = [&](const state::RemoteTool& tool) {
    const auto problem = FindProblem(*graph, tool);
    return problem ? problem->field : "";
  };
  EXPECT_EQ(field({"TOOLS", "fine", "", "{}"}), "");
  EXPECT_EQ(field({"NOBODY", "x", "", "{}"}), "node");
  EXPECT_EQ(field({"MAIN", "x", "", "{}"}), "node");
  EXPECT_EQ(field({"TOOLS", "a b", "", "{}"}), "name");
  EXPECT_EQ(field({"TOOLS", "add", "", "{}"}), "name");
  EXPECT_EQ(field({"TOOLS", "x", std::string(kRemoteToolDescriptionBytesMax + 1, 'x'), "{}"}),
            "description");
  EXPECT_EQ(field({"TOOLS", "x", "", R"({"type":"x"})"}), "parameters");
}

TEST_F(RemoteToolsTest, NamesAreThoseThatProvidersAccept) {
  const auto graph = graph::CompiledGraph::Compile(builder_, "test").value();
  const auto problem = [&](const std::string& name) {
    return FindProblem(*graph, {"TOOLS", name, "", "{}"}).has_value();
  };
  for (const std::string& name :
       {std::string("a"), std::string("z"), std::string("A"), std::string("Z"), std::string("0"),
        std::string("9"), std::string("_"), std::string("-"), std::string(64, 'x')}) {
    EXPECT_FALSE(problem(name)) << name;
  }
  for (const std::string& name :
       {std::string(), std::string(65, 'x'), std::string("a.b"), std::string("a/b"),
        std::string("a:b"), std::string("a@b"), std::string("a[b"), std::string("a`b"),
        std::string("a{b"), std::string("\u00e4")}) {
    EXPECT_TRUE(problem(name)) << name;
  }
}

TEST_F(RemoteToolsTest, DescriptionsAndSchemasMayBeAsLargeAsTheirLimits) {
  const auto graph = graph::CompiledGraph::Compile(builder_, "test").value();
  const auto field = [&](size_t description, size_t schema) {
    const std::string begin = R"({"description":")";
    const std::string end = "\"}";
    const std::string filler(schema - begin.size() - end.size(), 'x');
    const auto problem =
        FindProblem(*graph, {"TOOLS", "x", std::string(description, 'x'), begin + filler + end});
    return problem ? problem->field : "";
  };
  EXPECT_EQ(field(kRemoteToolDescriptionBytesMax, kRemoteToolSchemaBytesMax), "");
  EXPECT_EQ(field(kRemoteToolDescriptionBytesMax + 1, 100), "description");
  EXPECT_EQ(field(0, kRemoteToolSchemaBytesMax + 1), "parameters");
}

TEST_F(RemoteToolsTest, AnHttpToolKeepsItsName) {
  builder_.AddHttpTool("TOOLS", {.name = "fetch", .url = "https://example.org/"});
  const auto graph = graph::CompiledGraph::Compile(builder_, "test").value();
  const auto problem = FindProblem(*graph, {"TOOLS", "fetch", "", "{}"});
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->field, "name");
  EXPECT_FALSE(FindProblem(*graph, {"TOOLS", "fetch2", "", "{}"}));
}

TEST_F(RemoteToolsTest, TheModelGetsDescriptionAndParameters) {
  model_.script = {{.pieces = {"Hello."}}};
  RunOk(Ask("hi"));
  const models::ToolDeclaration& tool = model_.requests.at(0).tools.at(1);
  EXPECT_EQ(tool.description, "Where the client is.");
  EXPECT_EQ(tool.parameters_json, R"({"type":"object","properties":{"fine":{"type":"boolean"}}})");
}

TEST_F(RemoteToolsTest, WithoutAStateTheDeclaredToolsAreOffered) {
  const auto graph = graph::CompiledGraph::Compile(builder_, "test").value();
  RemoteTools remote_tools(DeclaredRemoteTools(*graph), nullptr, "nginx-1", {});
  EXPECT_EQ(remote_tools.AsOf(7)->Of("TOOLS").size(), 1u);
  const Result<RemoteToolSetPtr> newest = remote_tools.Newest();
  ASSERT_TRUE(newest.ok());
  EXPECT_EQ((*newest)->Of("TOOLS").size(), 1u);
}

TEST_F(RemoteToolsTest, AnOlderAnswerOfTheStateReplacesNothing) {
  const auto graph = graph::CompiledGraph::Compile(builder_, "test").value();
  RemoteTools remote_tools(DeclaredRemoteTools(*graph), &state_, "nginx-1", {});
  ASSERT_TRUE(remote_tools.SetUp({{"TOOLS", "a", "", "{}"}}).ok());
  ASSERT_TRUE(remote_tools.SetUp({{"TOOLS", "b", "", "{}"}}).ok());
  EXPECT_EQ(remote_tools.AsOf(2)->Of("TOOLS").at(0)->tool.name, "b");
  state_.remote_tools = {1, "nginx-1", {{"TOOLS", "a", "", "{}"}}};
  EXPECT_EQ(remote_tools.Newest().value()->Of("TOOLS").at(0)->tool.name, "b");
}

TEST_F(RemoteToolsTest, WithoutAThreadAResultAnswersNothing) {
  RunRequest request = Resume({Message::ToolResult("c1", "1")});
  request.thread_id.clear();
  EXPECT_EQ(
      Run(request).status().message(),
      "config.thread_id: must name the thread that waits for the result, because no thread or "
      "more than one does; in a new thread, message 0: no tool call with the id \"c1\" waits "
      "for a result");
  request.thread_id = "t1";
  EXPECT_EQ(Run(request).status().message(),
            "message 0: no tool call with the id \"c1\" waits for a result");
  stored_ = false;
  EXPECT_EQ(Run(request).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace agent_graph::run

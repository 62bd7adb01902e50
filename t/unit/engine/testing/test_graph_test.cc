#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "agent_graph/testing.h"

namespace agent_graph::graph_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

TestGraph WithTools(const std::function<void(GraphBuilder&)>& add_tools) {
  return TestGraph([&](GraphBuilder& graph) {
    graph.AddAgent("MAIN", {.system_prompt = "Be kind.", .tool_node = "TOOLS"});
    graph.AddToolNode("TOOLS", {});
    add_tools(graph);
    graph.AddEdge(START, "MAIN");
    graph.AddConditionalEdge("MAIN", ToolCallsPending("TOOLS"), {"TOOLS", END});
    graph.AddEdge("TOOLS", "MAIN");
  });
}

TestGraph WithHttpTool() {
  return WithTools([](GraphBuilder& graph) {
    graph.AddHttpTool("TOOLS", {.name = "get_order",
                                .url = "http://127.0.0.1:1/{number}",
                                .parameters_json = R"({"type":"object","required":["number"],
                                    "properties":{"number":{"type":"string"}}})"});
  });
}

TestGraph Answering() {
  return TestGraph([](GraphBuilder& graph) { graph.AddAgent("MAIN", {}).AddEdge(START, "MAIN"); });
}

TEST(TestGraphTest, KeepsAConversation) {
  TestGraph graph = Answering();
  graph.model().Says("One two.").Says("Three.");
  const RunResult first = graph.Run("a");
  EXPECT_TRUE(first.ok());
  EXPECT_THAT(first.streamed, ElementsAre("One", " two."));
  EXPECT_EQ(graph.model().replies_left(), 1u);
  const RunResult second = graph.Run("b");
  EXPECT_EQ(second.Text(), "Three.");
  EXPECT_EQ(second.messages.size(), 4u);
  EXPECT_EQ(second.messages_before, 2u);
  EXPECT_EQ(graph.model().prompts().at(1).messages.size(), 3u);
  graph.model().Says("Elsewhere.");
  EXPECT_EQ(graph.Run("c", "other").messages.size(), 2u);
}

TEST(TestGraphTest, ReportsFailures) {
  TestGraph graph = Answering();
  graph.model().Fails("out of credit");
  EXPECT_THAT(graph.Run("a").error, HasSubstr("out of credit"));
  const RunResult unscripted = graph.Run("b");
  EXPECT_FALSE(unscripted.ok());
  EXPECT_THAT(unscripted.error, HasSubstr("no reply left"));
}

TEST(TestGraphTest, HasModelsByName) {
  TestGraph graph([](GraphBuilder& builder) {
    builder.AddAgent("A", {.model = "router", .output_field = "next"});
    builder.AddAgent("B", {.system_prompt = "Be kind.", .parameters_json = R"({"temperature":0})"});
    builder.AddField({.name = "next"});
    builder.AddEdge(START, "A").AddEdge("A", "B");
  });
  graph.model("router").Says("somewhere");
  graph.model().Says("Fine.");
  const RunResult run = graph.Run("a");
  EXPECT_EQ(run.Text(), "Fine.");
  EXPECT_EQ(run.fields, (json{{"next", "somewhere"}}));
  EXPECT_EQ(graph.model().prompts().at(0).parameters, (json{{"temperature", 0}}));
  EXPECT_EQ(graph.model().prompts().at(0).system_prompt, "Be kind.");
}

TEST(TestGraphTest, FakesHttpTools) {
  TestGraph graph = WithHttpTool();
  graph.FakeTool("get_order", [](const json& arguments, ToolContext&) -> ToolOutput {
    return arguments.at("number") == "17" ? ToolOutput("shipped") : ToolOutput::Error("unknown");
  });
  graph.model().Calls({{"get_order", {{"number", "17"}}}, {"get_order", {{"number", "18"}}}});
  graph.model().Calls("get_order", {{"number", 17}}).Says("Done.");
  const RunResult run = graph.Run("where is it?");
  const std::vector<json> outputs = run.ToolOutputs();
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_EQ(outputs[0], "shipped");
  EXPECT_EQ(outputs[1], (json{{"error", "unknown"}}));
  EXPECT_TRUE(outputs[2].contains("error")) << "the schema still counts";
  EXPECT_EQ(graph.ToolCalls("get_order").size(), 2u);
}

TEST(TestGraphTest, CallsNoServices) {
  TestGraph graph = WithHttpTool();
  graph.model().Calls("get_order", {{"number", "17"}}).Says("Hm.");
  EXPECT_THAT(graph.Run("go").ToolOutputs().at(0).dump(), HasSubstr("no fake for the HTTP tool"));
}

TEST(TestGraphTest, FakesToolsOfMcpServers) {
  TestGraph graph = WithTools([](GraphBuilder& builder) {
    builder.AddMcpServer("TOOLS", {.name = "files", .url = "http://127.0.0.1:1/mcp"});
  });
  graph.FakeTool("read_file", "content");
  graph.model().Calls("read_file").Says("Read.");
  EXPECT_THAT(graph.Run("go").ToolOutputs(), ElementsAre(json("content")));
}

TEST(TestGraphTest, FakesToolsOfSubgraphs) {
  TestGraph graph([](GraphBuilder& builder) {
    GraphBuilder team;
    team.AddAgent("MAIN", {.tool_node = "TOOLS"});
    team.AddToolNode("TOOLS", {{.name = "work", .function = [](const json&, ToolContext&) {
                                  return ToolOutput("real");
                                }}});
    team.AddEdge(START, "MAIN").AddEdge("TOOLS", "MAIN");
    team.AddConditionalEdge("MAIN", ToolCallsPending("TOOLS"), {"TOOLS", END});
    builder.AddSubgraph("TEAM", team).AddEdge(START, "TEAM");
  });
  graph.FakeTool("work", "fake");
  graph.model().Calls("work").Says("Done.");
  EXPECT_THAT(graph.Run("go").ToolOutputs(), ElementsAre(json("fake")));
}

TEST(TestGraphTest, PausesAndResumes) {
  TestGraph graph([](GraphBuilder& builder) {
    builder.AddFunction("ASK", [](const State&, RunContext&) {
      NodeResult result;
      result.interrupt = Interrupt{"sure?", R"({"amount":3})"};
      return result;
    });
    builder.AddFunction("ACT", [](const State& state, RunContext&) {
      return NodeResult(Message::Assistant("You said " + state.LastUserText()));
    });
    builder.AddEdge(START, "ASK").AddEdge("ASK", "ACT");
  });
  const RunResult paused = graph.Run("pay");
  ASSERT_TRUE(paused.pause.has_value());
  EXPECT_EQ(paused.pause->node, "ASK");
  EXPECT_EQ(paused.pause->reason, "sure?");
  EXPECT_EQ(paused.pause->data, (json{{"amount", 3}}));
  const RunResult run = graph.Run("yes");
  EXPECT_FALSE(run.pause.has_value());
  EXPECT_EQ(run.Text(), "You said yes");
}

TEST(TestGraphTest, TakesResultsOfTheClientsTools) {
  TestGraph graph = WithTools([](GraphBuilder& builder) {
    builder.AddRemoteTool("TOOLS", {.name = "get_location", .description = "where"});
  });
  graph.model().Calls("get_location").Says("In Rome.");
  const RunResult paused = graph.Run("where am I?");
  ASSERT_TRUE(paused.pause.has_value());
  const std::string call = paused.pause->data.at("remote_tool_calls").at(0).at("id");
  EXPECT_THAT(graph.Run({Message::ToolResult("nonsense", "1")}).error, HasSubstr("nonsense"));
  EXPECT_EQ(graph.Run({Message::ToolResult(call, R"("Rome")")}).Text(), "In Rome.");
}

TEST(TestGraphTest, HasMemories) {
  TestGraph graph([](GraphBuilder& builder) {
    builder.AddFunction("A", [](const State& state, RunContext& context) {
      context.memories().Store({.content = state.LastUserText()});
      return NodeResult(Message::Assistant(context.memories().Search({.query = "tea"})[0].content));
    });
    builder.AddEdge(START, "A");
  });
  EXPECT_EQ(graph.Run("green tea").Text(), "green tea");
}

TEST(TestGraphTest, NamesMistakes) {
  EXPECT_THAT([] { Answering().FakeTool("nothing", "x"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("no tool \"nothing\"")));
  EXPECT_THAT([] { TestGraph([](GraphBuilder& b) { b.AddEdge(START, "X"); }).Run("a"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("\"X\"")));
  EXPECT_THAT([] { TestGraph::Load("nowhere.json:app"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("cannot be read")));
  EXPECT_THAT([] { TestGraph::Load("nowhere.json"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("needs the name of a graph")));
  const std::string file = ::testing::TempDir() + "wrong.json";
  std::ofstream(file) << R"({"app": {"nodes": 1}})";
  EXPECT_THAT([&] { TestGraph::Load(file + ":app"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("wrong.json: app")));
}

}  // namespace
}  // namespace agent_graph::graph_test

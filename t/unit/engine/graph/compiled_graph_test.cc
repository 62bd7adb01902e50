#include "graph/compiled_graph.h"

#include <gmock/gmock.h>

#include "agent_graph/json.h"
#include "compile.h"

namespace agent_graph::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

NodeResult Nothing(const State&, RunContext&) {
  return {};
}

Message Calling(const std::string& id) {
  Message message = Message::Assistant("");
  message.content.emplace_back(ToolCallBlock{.id = id, .name = "look_up"});
  return message;
}

TEST(CompiledGraphTest, ShowsDeclaredJumpsAsEdges) {
  GraphBuilder builder;
  const auto nothing = [](const State&, RunContext&) { return NodeResult(); };
  builder.AddFunction("A", nothing).AddFunction("B", nothing).AddEdge(START, "A");
  builder.AddGoTo("A", {"B", END});
  std::vector<std::string> edges;
  for (const EdgeView& edge : Compile(builder)->edges()) {
    edges.push_back(edge.source + ">" + edge.target);
  }
  EXPECT_THAT(edges, ElementsAre("__start__>A", "A>B", "A>__end__"));
}

TEST(CompiledGraphTest, ShowsItsStructure) {
  GraphBuilder builder;
  AddAgentAndTools(builder);
  builder.InterruptBefore({"TOOLS"});
  auto graph = Compile(builder);
  EXPECT_EQ(graph->name(), "app");
  EXPECT_EQ(graph->hash().size(), 32u);
  ASSERT_EQ(graph->nodes().size(), 2u);
  std::vector<std::string> edges;
  for (const EdgeView& edge : graph->edges()) edges.push_back(edge.source + ">" + edge.target);
  EXPECT_THAT(edges, ElementsAre("__start__>MAIN", "MAIN>TOOLS", "MAIN>__end__", "TOOLS>MAIN"));
  EXPECT_TRUE(graph->InterruptsBefore("TOOLS"));
  EXPECT_FALSE(graph->InterruptsAfter("TOOLS"));
  const std::vector<ModelUse> uses = graph->ModelUses();
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].asker + " " + uses[0].model, "node \"MAIN\" default");
  EXPECT_FALSE(uses[0].live);
  const auto& agent = std::get<Agent>(graph->FindNode("MAIN")->kind);
  ASSERT_NE(graph->ToolsOf(agent), nullptr);
  EXPECT_NE(graph->ToolsOf(agent)->Find("look_up"), nullptr);
  EXPECT_EQ(graph->ToolsOf(agent)->Find("other"), nullptr);
  EXPECT_EQ(graph->ToolsOf(Agent()), nullptr);
}

TEST(CompiledGraphTest, CopiesTheBuilder) {
  std::shared_ptr<const CompiledGraph> graph;
  {
    GraphBuilder builder;
    builder.SetName("a name that does not fit a small string");
    AddAgentAndTools(builder);
    graph = Compile(builder);
  }
  EXPECT_EQ(graph->name(), "a name that does not fit a small string");
  EXPECT_EQ(*graph->Next(START, State()), "MAIN");
}

TEST(CompiledGraphTest, FollowsToolCallsUntilTheyAreAnswered) {
  GraphBuilder builder;
  AddAgentAndTools(builder);
  auto graph = Compile(builder);
  State state;
  EXPECT_EQ(*graph->Next(START, state), "MAIN");
  EXPECT_EQ(*graph->Next("MAIN", state), END);
  state.mutable_messages() = {Message::User("x"), Calling("c1")};
  EXPECT_EQ(*graph->Next("MAIN", state), "TOOLS");
  EXPECT_EQ(*graph->Next("TOOLS", state), "MAIN");
  state.mutable_messages().push_back(Message::ToolResult("other", "1"));
  EXPECT_EQ(*graph->Next("MAIN", state), "TOOLS");
  state.mutable_messages().push_back(Message::ToolResult("c1", "1"));
  EXPECT_EQ(*graph->Next("MAIN", state), END);
}

TEST(CompiledGraphTest, NodeWithoutAnEdgeEndsTheRun) {
  GraphBuilder builder;
  builder.AddFunction("A", Nothing).AddEdge(START, "A");
  EXPECT_EQ(*Compile(builder)->Next("A", State()), END);
}

TEST(CompiledGraphTest, PredicateFailuresAreStatuses) {
  GraphBuilder builder;
  builder.AddFunction("A", Nothing).AddFunction("B", Nothing).AddFunction("C", Nothing);
  builder.AddConditionalEdge(START, [](const State&) { return "Z"; }, {"A", "B", "C"});
  builder.AddConditionalEdge(
      "A", [](const State&) -> std::string { throw std::runtime_error("oops"); }, {END});
  builder.AddConditionalEdge("B", [](const State&) -> std::string { throw 1; }, {END});
  auto graph = Compile(builder);
  EXPECT_EQ(graph->Next(START, State()).status().code(), StatusCode::kGraph);
  EXPECT_THAT(graph->Next(START, State()).status().message(),
              HasSubstr("the predicate after START chose \"Z\""));
  EXPECT_THAT(graph->Next("A", State()).status().message(), HasSubstr("oops"));
  EXPECT_FALSE(graph->Next("B", State()).ok());
}

TEST(CompiledGraphTest, GoToNeedsANodeOfTheGraph) {
  GraphBuilder builder;
  builder.AddFunction("A", Nothing).AddFunction("B", Nothing);
  builder.AddEdge(START, "A").AddGoTo("A", {"B"});
  auto graph = Compile(builder);
  EXPECT_EQ(*graph->Jump("A", "B", State()), "B");
  EXPECT_EQ(*graph->Jump("A", END, State()), END);
  EXPECT_FALSE(graph->Jump("A", "C", State()).ok());
  EXPECT_FALSE(graph->Jump("A", START, State()).ok());
}

// --- graphs that are rejected -----------------------------------------------------------------

struct Mistake {
  const char* name;
  void (*make)(GraphBuilder& builder);  // applied to AddAgentAndTools
  const char* problem;
};

class MistakeTest : public testing::TestWithParam<Mistake> {};

TEST_P(MistakeTest, IsNamed) {
  GraphBuilder builder;
  AddAgentAndTools(builder);
  ASSERT_THAT(builder.Problems(), ElementsAre());
  GetParam().make(builder);
  EXPECT_THAT(builder.Problems(), ElementsAre(GetParam().problem));
  auto graph = CompiledGraph::Compile(builder, "app");
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().code(), StatusCode::kGraph);
}

INSTANTIATE_TEST_SUITE_P(
    Builder, MistakeTest,
    testing::Values(
        Mistake{"UnknownTarget",
                [](GraphBuilder& b) { b.AddFunction("A", Nothing).AddEdge("A", "Z"); },
                "the edge from \"A\": there is no node \"Z\""},
        Mistake{"UnknownSource", [](GraphBuilder& b) { b.AddEdge("Z", "MAIN"); },
                "the edge from \"Z\": there is no node \"Z\""},
        Mistake{"Unreachable", [](GraphBuilder& b) { b.AddFunction("A", Nothing); },
                "node \"A\" cannot be reached: no edges lead to it from START"},
        Mistake{"SecondEdge", [](GraphBuilder& b) { b.AddEdge("TOOLS", END); },
                "two edges leave \"TOOLS\": use one conditional edge"},
        Mistake{"SecondStart", [](GraphBuilder& b) { b.AddEdge(START, "TOOLS"); },
                "two edges leave START: use one conditional edge"},
        Mistake{"BackToStart",
                [](GraphBuilder& b) { b.AddFunction("A", Nothing).AddEdge("A", START); },
                "the edge from \"A\": nothing leads back to START"},
        Mistake{"FromEnd", [](GraphBuilder& b) { b.AddEdge(END, "MAIN"); }, "no edge leaves END"},
        Mistake{"Duplicate", [](GraphBuilder& b) { b.AddFunction("MAIN", Nothing); },
                "two nodes are named \"MAIN\""},
        Mistake{"ReservedName", [](GraphBuilder& b) { b.AddFunction(END, Nothing); },
                "no node may be named __end__"},
        Mistake{"UnknownToolNode", [](GraphBuilder& b) { b.AddAgent("A", {.tool_node = "Z"}); },
                "node \"A\": there is no tool node \"Z\""},
        Mistake{"NoToolNode", [](GraphBuilder& b) { b.AddAgent("A", {.tool_node = "MAIN"}); },
                "node \"A\": node \"MAIN\" is not a tool node"},
        Mistake{"BadParameters",
                [](GraphBuilder& b) { b.AddAgent("A", {.parameters_json = "[]"}); },
                "node \"A\": the parameters are not a JSON object"},
        Mistake{"ToolTwice",
                [](GraphBuilder& b) { b.AddToolNode("A", {NamedTool("t"), NamedTool("t")}); },
                "node \"A\", tool \"t\" is there twice"},
        Mistake{"ToolName", [](GraphBuilder& b) { b.AddToolNode("A", {NamedTool("a b")}); },
                "node \"A\", tool \"a b\": a tool's name must be 1 to 64 letters, digits, _ or -"},
        Mistake{"ToolOfAList",
                [](GraphBuilder& b) {
                  Tool tool = NamedTool("t");
                  tool.parameters_json = R"({"type":"array"})";
                  b.AddToolNode("A", {tool});
                },
                "node \"A\", tool \"t\": the parameters cannot be used: type: must be or include "
                "\"object\": the arguments of a tool are an object"},
        Mistake{"RemoteToolOfAList",
                [](GraphBuilder& b) {
                  b.AddToolNode("A", {}).AddRemoteTool(
                      "A", {.name = "t", .parameters_json = R"({"type":["string","null"]})"});
                },
                "node \"A\", remote tool \"t\": the parameters cannot be used: type: must be or "
                "include \"object\": the arguments of a tool are an object"},
        Mistake{"ToolWithoutFunction", [](GraphBuilder& b) { b.AddToolNode("A", {{.name = "t"}}); },
                "node \"A\", tool \"t\" has no function"},
        Mistake{"NoFunction", [](GraphBuilder& b) { b.AddFunction("A", nullptr); },
                "node \"A\" has no function"},
        Mistake{"NoPredicate",
                [](GraphBuilder& b) {
                  b.AddFunction("A", Nothing).AddConditionalEdge("A", nullptr, {END});
                },
                "the edge from \"A\" has no predicate"},
        Mistake{"FieldTwice",
                [](GraphBuilder& b) { b.AddField({.name = "f"}).AddField({.name = "f"}); },
                "state field \"f\" is there twice"},
        Mistake{"BuiltInField", [](GraphBuilder& b) { b.AddField({.name = "context"}); },
                "state field \"context\": the name belongs to the state itself"},
        Mistake{"BadDefault",
                [](GraphBuilder& b) { b.AddField({.name = "f", .default_json = "{"}); },
                "state field \"f\": the default is not JSON"},
        Mistake{"NoReducer",
                [](GraphBuilder& b) { b.AddField({.name = "f", .reducer = Reducer::kCustom}); },
                "state field \"f\" has no reducer"},
        Mistake{"LiveBehindOthers", [](GraphBuilder& b) { b.AddLiveAgent("V", {}); },
                "START must lead to the live agent \"V\""},
        Mistake{"LiveToolNode", [](GraphBuilder& b) { b.AddLiveAgent("V", {.tool_node = "MAIN"}); },
                "node \"V\": node \"MAIN\" is not a tool node"},
        Mistake{"LiveSubAgent",
                [](GraphBuilder& b) { b.AddLiveAgent("V", {.sub_agents = {"MAIN"}}); },
                "node \"V\": there is no live agent \"MAIN\""},
        Mistake{"LiveVoiceActivity",
                [](GraphBuilder& b) { b.AddLiveAgent("V", {.vad = {.silence_duration_ms = -1}}); },
                "node \"V\": vad.silence_duration_ms must be 0 to 60000"},
        Mistake{"Interrupt", [](GraphBuilder& b) { b.InterruptAfter({"Z"}); },
                "interrupt_after: there is no node \"Z\""},
        Mistake{"JumpOfAgent", [](GraphBuilder& b) { b.AddGoTo("MAIN", {"TOOLS"}); },
                "the goto from \"MAIN\": only function nodes jump"}),
    [](const auto& test) { return test.param.name; });

TEST(GraphBuilderTest, EmptyGraphHasEveryProblem) {
  GraphBuilder builder;
  EXPECT_THAT(builder.Problems(), ElementsAre("the graph has no nodes", "no edge leaves START"));
  EXPECT_EQ(CompiledGraph::Compile(builder, "app").status().message(),
            "the graph has no nodes; no edge leaves START");
}

// --- state fields ------------------------------------------------------------------------------

}  // namespace
}  // namespace agent_graph::graph

// Nested graphs: how they are flattened, and how a run moves through them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent_graph/json.h"
#include "graph/compiled_graph.h"
#include "graph/declarative.h"

namespace agent_graph::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

NodeResult Nothing(const State&, RunContext&) {
  return {};
}

// W writes; R reviews and returns to W until the text is good.
void BuildTeam(GraphBuilder& team) {
  team.AddFunction("W", Nothing).AddFunction("R", Nothing);
  team.AddEdge(START, "W").AddEdge("W", "R");
  team.AddConditionalEdge(
      "R",
      [](const State& state) -> std::string { return state.Field("good") == true ? END : "W"; },
      {"W", END});
  team.AddField({.name = "good", .default_json = "false"});
  team.InterruptBefore({"R"});
}

std::shared_ptr<const CompiledGraph> Compiled(const GraphBuilder& builder) {
  auto graph = CompiledGraph::Compile(builder, "test");
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
  return graph.ok() ? *graph : nullptr;
}

std::vector<std::string> Ways(const CompiledGraph& graph) {
  std::vector<std::string> ways;
  for (const EdgeView& edge : graph.edges()) ways.push_back(edge.source + ">" + edge.target);
  return ways;
}

// Every user of a model, with the model's name.
std::vector<std::string> ModelsOf(const CompiledGraph& graph) {
  std::vector<std::string> texts;
  for (const ModelUse& use : graph.ModelUses()) texts.push_back(use.asker + ": " + use.model);
  return texts;
}

class SubgraphTest : public testing::Test {
 protected:
  SubgraphTest() {
    GraphBuilder team;
    BuildTeam(team);
    builder_.AddFunction("IN", Nothing).AddSubgraph("TEAM", team).AddFunction("OUT", Nothing);
    builder_.AddEdge(START, "IN").AddEdge("IN", "TEAM").AddEdge("TEAM", "OUT");
  }
  GraphBuilder builder_;
};

TEST_F(SubgraphTest, NodesAreNamedByTheirPath) {
  auto graph = Compiled(builder_);
  std::vector<std::string> names;
  for (const Node& node : graph->nodes()) names.push_back(node.name);
  EXPECT_THAT(names, ElementsAre("IN", "TEAM/W", "TEAM/R", "OUT"));
  EXPECT_THAT(graph->interrupt_before(), ElementsAre("TEAM/R"));
  EXPECT_THAT(graph->StateFieldNames(), testing::Contains("good"));
  EXPECT_THAT(Ways(*graph), ElementsAre("__start__>IN", "IN>TEAM/W", "TEAM/W>TEAM/R",
                                        "TEAM/R>TEAM/W", "TEAM/R>OUT"));
}

TEST_F(SubgraphTest, ARunGoesInAndOut) {
  auto graph = Compiled(builder_);
  State state;
  EXPECT_EQ(*graph->Next("IN", state), "TEAM/W");
  EXPECT_EQ(*graph->Next("TEAM/W", state), "TEAM/R");
  EXPECT_EQ(*graph->Next("TEAM/R", state), "TEAM/W");
  state.mutable_fields()["good"] = true;
  EXPECT_EQ(*graph->Next("TEAM/R", state), "OUT");
  EXPECT_EQ(*graph->Next("OUT", state), END);
}

TEST_F(SubgraphTest, JumpsStayInTheirGraphOrEndIt) {
  auto graph = Compiled(builder_);
  State state;
  EXPECT_EQ(*graph->Jump("TEAM/R", "W", state), "TEAM/W");
  EXPECT_EQ(*graph->Jump("TEAM/W", END, state), "OUT");
  EXPECT_EQ(*graph->Jump("IN", "TEAM", state), "TEAM/W");
  EXPECT_FALSE(graph->Jump("TEAM/W", "OUT", state).ok());
  EXPECT_FALSE(graph->Jump("IN", "W", state).ok());
}

TEST_F(SubgraphTest, GraphsNestInSeveralLevels) {
  GraphBuilder outer;
  outer.AddSubgraph("DEEP", builder_).AddEdge(START, "DEEP");
  auto graph = Compiled(outer);
  State state;
  state.mutable_fields()["good"] = true;
  EXPECT_EQ(*graph->Next(START, state), "DEEP/IN");
  EXPECT_EQ(*graph->Next("DEEP/TEAM/R", state), "DEEP/OUT");
  EXPECT_EQ(*graph->Next("DEEP/OUT", state), END);
}

TEST_F(SubgraphTest, TheSameGraphCanBeUsedTwice) {
  GraphBuilder team;
  BuildTeam(team);
  GraphBuilder outer;
  outer.AddSubgraph("ONE", team).AddSubgraph("TWO", team);
  outer.AddEdge(START, "ONE").AddEdge("ONE", "TWO");
  auto graph = Compiled(outer);
  State state;
  state.mutable_fields()["good"] = true;
  EXPECT_EQ(*graph->Next("ONE/R", state), "TWO/W");
  EXPECT_EQ(*graph->Next("TWO/R", state), END);
}

TEST_F(SubgraphTest, AgentsFindTheToolsOfTheirOwnGraph) {
  GraphBuilder team;
  team.AddAgent("A", {.model = "small", .tool_node = "T"}).AddToolNode("T", {});
  team.AddEdge(START, "A").AddEdge("T", "A");
  team.AddConditionalEdge("A", ToolCallsPending("T"), {"T", END});
  GraphBuilder outer;
  outer.AddSubgraph("X", team).AddEdge(START, "X");
  auto graph = Compiled(outer);
  const Node* agent = graph->FindNode("X/A");
  ASSERT_NE(agent, nullptr);
  EXPECT_NE(graph->ToolsOf(std::get<Agent>(agent->kind)), nullptr);
  EXPECT_THAT(ModelsOf(*graph), ElementsAre("node \"X/A\": small"));
  EXPECT_EQ(*graph->Next("X/A", State()), END);
}

TEST_F(SubgraphTest, ALoopOfSubgraphsWithoutNodesIsAnError) {
  GraphBuilder inner;
  inner.AddFunction("N", Nothing);
  inner.AddConditionalEdge(START, [](const State&) -> std::string { return END; }, {"N", END});
  GraphBuilder outer;
  outer.AddSubgraph("A", inner).AddSubgraph("B", inner);
  outer.AddEdge(START, "A").AddEdge("A", "B").AddEdge("B", "A");
  EXPECT_FALSE(Compiled(outer)->Next(START, State()).ok());
}

TEST(SubgraphProblemsTest, NameTheNode) {
  GraphBuilder broken;
  broken.AddFunction("A", Nothing);
  GraphBuilder outer;
  outer.AddSubgraph("TEAM", broken).AddEdge(START, "TEAM").InterruptBefore({"TEAM"});
  outer.AddFunction("A/B", Nothing).AddEdge("TEAM", "A/B");
  const std::string problems = testing::PrintToString(outer.Problems());
  EXPECT_THAT(problems, HasSubstr("node \\\"TEAM\\\": no edge leaves START"));
  EXPECT_THAT(problems, HasSubstr("is a subgraph, which names its own interrupts"));
  EXPECT_THAT(problems, HasSubstr("a name holds no /"));
}

// --- subgraphs in JSON ------------------------------------------------------------------------

constexpr char kDocument[] = R"({
  "app": {"nodes": [{"name": "TEAM", "type": "graph", "graph": "team"}],
          "edges": [{"from": "START", "to": "TEAM"}]},
  "team": {"nodes": [{"name": "W", "type": "reply", "text": "hi"}],
           "edges": [{"from": "START", "to": "W"}]},
  "round": {"nodes": [{"name": "X", "type": "graph", "graph": "round"}],
            "edges": [{"from": "START", "to": "X"}]},
  "lost": {"nodes": [{"name": "X", "type": "graph", "graph": "nowhere"}],
           "edges": [{"from": "START", "to": "X"}]}})";

TEST(SubgraphDocumentTest, AKeyOfTheDocumentIsANode) {
  GraphBuilder builder;
  ASSERT_TRUE(ReadDocument(kDocument, "app", builder).ok());
  EXPECT_NE(Compiled(builder)->FindNode("TEAM/W"), nullptr);
}

TEST(SubgraphDocumentTest, MistakesHaveAPath) {
  GraphBuilder round;
  EXPECT_EQ(ReadDocument(kDocument, "round", round).message(),
            "round.nodes.0.graph: graph \"round\" would be a part of itself");
  GraphBuilder lost;
  EXPECT_EQ(ReadDocument(kDocument, "lost", lost).message(),
            "lost.nodes.0.graph: there is no graph \"nowhere\" in the document");
}

TEST(NodeOptionsDocumentTest, AreRead) {
  GraphBuilder builder;
  ASSERT_TRUE(ReadDocument(R"({"app": {
      "nodes": [{"name": "A", "type": "agent", "timeout_ms": 1500,
                 "retry": {"attempts": 4, "delay_ms": 10, "factor": 3, "delay_ms_max": 50}}],
      "edges": [{"from": "START", "to": "A"}],
      "context": {"messages_max": 20, "summarize": true, "summary_model": "small"}}})",
                           "app", builder)
                  .ok());
  auto graph = Compiled(builder);
  const Node& node = graph->nodes()[0];
  EXPECT_EQ(node.timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(node.retry.attempts_max, 4);
  EXPECT_EQ(node.retry.delay, std::chrono::milliseconds(10));
  EXPECT_EQ(node.retry.delay_max, std::chrono::milliseconds(50));
  ASSERT_TRUE(graph->context().has_value());
  EXPECT_EQ(graph->context()->messages_max, 20u);
  EXPECT_THAT(ModelsOf(*graph),
              ElementsAre("node \"A\": default", "the summary of its context: small"));
}

TEST(NodeOptionsProblemsTest, AreFound) {
  GraphBuilder builder;
  builder.AddFunction("A", Nothing).AddToolNode("T", {}).AddEdge(START, "A").AddEdge("A", "T");
  builder.SetRetry("A", {.attempts_max = 0}).SetRetry("T", {.attempts_max = 2});
  builder.SetRetry("GONE", {}).SetTimeout("A", std::chrono::milliseconds(-1)).SetContext({});
  const std::string problems = testing::PrintToString(builder.Problems());
  EXPECT_THAT(problems, HasSubstr("a retry policy has 1 to 100 attempts"));
  EXPECT_THAT(problems, HasSubstr("only agents and functions are tried again"));
  EXPECT_THAT(problems, HasSubstr("there is no node \\\"GONE\\\" yet"));
  EXPECT_THAT(problems, HasSubstr("the timeout must be positive"));
  EXPECT_THAT(problems, HasSubstr("the context policy has no limit"));
}

}  // namespace
}  // namespace agent_graph::graph

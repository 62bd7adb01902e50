// Graphs whose root is a live agent, in C++ and in JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/compiled_graph.h"
#include "graph/declarative.h"

namespace agent_graph::graph {
namespace {

using testing::ElementsAre;

TEST(LiveGraphTest, IsRootedAtItsLiveAgent) {
  GraphBuilder builder;
  builder.AddLiveAgent("VOICE", {.tool_node = "TOOLS", .sub_agents = {"BILLING"}});
  builder.AddLiveAgent("BILLING", {.model = "other"});
  builder.AddToolNode("TOOLS", {});
  builder.AddEdge(START, "VOICE");
  auto graph = CompiledGraph::Compile(builder, "app");
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  ASSERT_NE((*graph)->live_root(), nullptr);
  EXPECT_EQ((*graph)->live_root()->name, "VOICE");
  const std::vector<ModelUse> uses = (*graph)->ModelUses();
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].asker + " " + uses[0].model, "node \"VOICE\" default");
  EXPECT_EQ(uses[1].asker + " " + uses[1].model, "node \"BILLING\" other");
  EXPECT_TRUE(uses[0].live && uses[1].live);
  EXPECT_THAT((*graph)->HandoverTargets("VOICE"), ElementsAre("BILLING"));
  EXPECT_THAT((*graph)->HandoverTargets("BILLING"), ElementsAre("VOICE"));
  EXPECT_EQ((*graph)->FindLiveAgent("TOOLS"), nullptr);
}

TEST(LiveGraphTest, AGraphOfAgentsIsNotLive) {
  GraphBuilder builder;
  builder.AddAgent("MAIN", {}).AddEdge(START, "MAIN");
  auto graph = CompiledGraph::Compile(builder, "app");
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ((*graph)->live_root(), nullptr);
}

TEST(LiveGraphTest, HasOneRoot) {
  GraphBuilder builder;
  builder.AddLiveAgent("A", {}).AddLiveAgent("B", {}).AddEdge(START, "A").AddEdge("A", "B");
  EXPECT_THAT(builder.Problems(),
              ElementsAre("a graph has one live agent at its root: \"A\" and \"B\" are no "
                          "sub-agents of any other"));
}

TEST(LiveGraphTest, NothingFollowsALiveAgent) {
  GraphBuilder builder;
  builder.AddLiveAgent("A", {}).AddAgent("B", {}).AddEdge(START, "A").AddEdge("A", "B");
  EXPECT_THAT(builder.Problems(),
              ElementsAre("the edge from \"A\": a live agent leads to END only"));
}

constexpr char kDocument[] = R"({"app": {
  "nodes": [
    {"name": "VOICE", "type": "live_agent", "model": "m", "voice": "Kore", "modality": "TEXT",
     "system_prompt": "Hello.", "tool_node": "TOOLS", "tools_tags": ["shop"],
     "vad": {"enabled": false, "silence_duration_ms": 300, "end_sensitivity": "low"},
     "sub_agents": ["BILLING"], "parameters": {"temperature": 0.2}},
    {"name": "BILLING", "type": "live_agent", "description": "knows invoices"},
    {"name": "TOOLS", "type": "tools", "tools": ["calculator"]}
  ],
  "edges": [{"from": "START", "to": "VOICE"}]
}})";

TEST(LiveGraphTest, DeclarativeForm) {
  GraphBuilder builder;
  Status read = ReadDocument(kDocument, "app", builder);
  ASSERT_TRUE(read.ok()) << read.ToString();
  auto graph = CompiledGraph::Compile(builder, "app");
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const LiveAgent& agent = *(*graph)->FindLiveAgent("VOICE");
  EXPECT_EQ(agent.model, "m");
  EXPECT_EQ(agent.voice, "Kore");
  EXPECT_EQ(agent.modality, Modality::kText);
  EXPECT_EQ(agent.system_prompt, "Hello.");
  EXPECT_THAT(agent.tools_tags, ElementsAre("shop"));
  EXPECT_EQ(agent.vad.enabled, false);
  EXPECT_EQ(agent.vad.silence_duration_ms, 300);
  EXPECT_EQ(agent.vad.prefix_padding_ms, std::nullopt);
  EXPECT_EQ(agent.vad.end_sensitivity, "low");
  EXPECT_EQ(agent.parameters_json, R"({"temperature":0.2})");
  EXPECT_EQ((*graph)->FindLiveAgent("BILLING")->description, "knows invoices");
}

std::string MistakeOf(std::string_view node) {
  GraphBuilder builder;
  std::string document = R"({"app":{"nodes":[{"name":"V","type":"live_agent",)";
  document += node;
  document += R"(}],"edges":[{"from":"START","to":"V"}]}})";
  return ReadDocument(document, "app", builder).message();
}

TEST(LiveGraphTest, DeclarativeMistakesNameThePath) {
  EXPECT_EQ(MistakeOf(R"("modality":"VIDEO")"), "app.nodes.0.modality: must be one of AUDIO, TEXT");
  EXPECT_EQ(MistakeOf(R"("vad":{"silence_duration_ms":-1})"),
            "app.nodes.0.vad.silence_duration_ms: must be an integer from 0 to 60000");
  EXPECT_EQ(MistakeOf(R"("vad":{"start_sensitivity":"loud"})"),
            "app.nodes.0.vad: vad.start_sensitivity must be \"high\" or \"low\"");
  EXPECT_EQ(MistakeOf(R"("sub_agents":["Z"])"), "app.nodes.0.sub_agents.0: there is no node \"Z\"");
  EXPECT_EQ(MistakeOf(R"("tool_node":"V")"),
            "app.nodes.0.tool_node: \"V\" is not a node of type tools");
}

}  // namespace
}  // namespace agent_graph::graph

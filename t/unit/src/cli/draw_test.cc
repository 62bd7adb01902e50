#include "cli/drawing.h"

#include "agent_graph/graph.h"
#include "command_fixture.h"
#include "graph/compiled_graph.h"

namespace agent_graph::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

DrawnGraph Sample() {
  GraphBuilder builder;
  builder.SetName("a <b>");
  builder.AddAgent("MAIN", {.model = "large", .tool_node = "TOOLS"});
  builder.AddToolNode("TOOLS", {});
  builder.AddRemoteTool("TOOLS", {.name = "locate", .description = "where"});
  builder.AddEdge(START, "MAIN").AddEdge("TOOLS", "MAIN");
  builder.AddConditionalEdge("MAIN", ToolCallsPending("TOOLS"), {"TOOLS", END});
  return PlaceNodes(**graph::CompiledGraph::Compile(builder, "x"));
}

TEST(Drawing, PlacesNodesInRows) {
  const DrawnGraph graph = Sample();
  ASSERT_EQ(graph.nodes.size(), 4u);
  EXPECT_EQ(graph.nodes[0].name, "START");
  EXPECT_EQ(graph.nodes[0].row, 0u);
  EXPECT_EQ(graph.nodes[1].row, 1u);
  EXPECT_EQ(graph.nodes[2].row, 2u);
  EXPECT_EQ(graph.nodes[3].name, "END");
  EXPECT_EQ(graph.nodes[3].row, 3u);
  EXPECT_EQ(graph.edges.size(), 4u);
}

TEST(Drawing, AsText) {
  EXPECT_EQ(DrawText(Sample()),
            "a <b>\n\n"
            "START\n  --> MAIN\n"
            "MAIN  (agent: large)\n  ?-> TOOLS\n  ?-> END\n"
            "TOOLS  (tools: locate (client))\n  --> MAIN\n"
            "END\n");
}

TEST(Drawing, ForMermaid) {
  EXPECT_EQ(DrawMermaid(Sample()),
            "flowchart TD\n"
            "  n0([\"START\"])\n  n1[\"MAIN\"]\n  n2[\"TOOLS\"]\n  n3([\"END\"])\n"
            "  n0 --> n1\n  n2 --> n1\n  n1 -.-> n2\n  n1 -.-> n3\n");
}

TEST(Drawing, AsSvg) {
  const std::string svg = DrawSvg(Sample());
  EXPECT_THAT(svg, testing::StartsWith("<svg "));
  EXPECT_THAT(svg, HasSubstr("<title>a &lt;b&gt;</title>"));
  EXPECT_THAT(svg, HasSubstr(">MAIN</text>"));
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

class Draw : public CommandTest {};

TEST_F(Draw, ReadsGraphsAndServices) {
  Write("graph.json", R"({"app": {"nodes": [{"name": "MAIN", "type": "agent"}],
                                  "edges": [{"from": "START", "to": "MAIN"}]}})");
  Write("service.json", R"({"agent": "graph.json:app"})");
  const std::string drawn = Call({"draw", folder_ + "/graph.json"}).out;
  EXPECT_THAT(drawn, HasSubstr("MAIN  (agent: default)"));
  EXPECT_EQ(Call({"draw", folder_}).out, drawn);
  EXPECT_THAT(Call({"draw", "--format=mermaid", folder_}).out, HasSubstr("flowchart"));
  EXPECT_THAT(Call({"draw", "--format", "svg", folder_ + "/graph.json:app"}).out,
              HasSubstr("</svg>"));
  const Ran wrong = Call({"draw", Write("wrong.json", R"({"app": {"nodes": 1}})")});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("wrong.json:1:"));
}

}  // namespace
}  // namespace agent_graph::cli

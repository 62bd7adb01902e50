// Compiles graphs that must be valid.
#pragma once

#include <gtest/gtest.h>

#include "agent_graph/json.h"
#include "graph/compiled_graph.h"

namespace agent_graph::graph {

inline Tool NamedTool(const std::string& name) {
  return {.name = name, .function = [](const json&, ToolContext&) { return ToolOutput("done"); }};
}

// A valid graph that each test modifies.
inline void AddAgentAndTools(GraphBuilder& builder) {
  builder.AddAgent("MAIN", {.tool_node = "TOOLS"});
  builder.AddToolNode("TOOLS", {NamedTool("look_up")});
  builder.AddEdge(START, "MAIN");
  builder.AddConditionalEdge("MAIN", ToolCallsPending("TOOLS"), {"TOOLS", END});
  builder.AddEdge("TOOLS", "MAIN");
}

inline std::shared_ptr<const CompiledGraph> Compile(const GraphBuilder& builder) {
  auto graph = CompiledGraph::Compile(builder, "app");
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
  return graph.ok() ? *graph : nullptr;
}

}  // namespace agent_graph::graph

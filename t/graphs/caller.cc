// Returns what a node and a tool can see of the caller.
#include <agent_graph/agent_graph.h>
#include <agent_graph/json.h>

using namespace agent_graph;

namespace {

json Seen(const json& user, const json& config) {
  return {{"user", user}, {"config", config}};
}

NodeResult Tell(const State&, RunContext& context) {
  return Message::Assistant(Seen(context.user(), context.config()).dump());
}

void Build(GraphBuilder& graph) {
  graph.AddFunction("TELL", Tell);
  graph.AddEdge(START, "TELL").AddEdge("TELL", END);
}

// The tool first stores a memory of its own; its result includes the memories that it finds.
ToolOutput Look(const json& arguments, ToolContext& context) {
  json seen = Seen(context.user(), context.config());
  context.memories().Store({.content = arguments.value("note", "note of nobody")});
  seen["memories"] = json::array();
  for (const FoundMemory& memory : context.memories().Search({.query = "note", .limit = 100})) {
    seen["memories"].push_back(memory.content);
  }
  return seen;
}

void BuildTool(GraphBuilder& graph) {
  graph.AddAgent("MAIN", {.model = "default", .tool_node = "TOOLS"});
  graph.AddToolNode(
      "TOOLS", {{.name = "look",
                 .description = "Looks at the caller.",
                 .parameters_json = R"({"type":"object","properties":{"note":{"type":"string"}}})",
                 .function = Look}});
  graph.AddEdge(START, "MAIN");
  graph.AddConditionalEdge("MAIN", ToolCallsPending("TOOLS"), {"TOOLS", END});
  graph.AddEdge("TOOLS", "MAIN");
}

}  // namespace

AGENT_GRAPH_EXPORT(app, Build)
AGENT_GRAPH_EXPORT(tool, BuildTool)

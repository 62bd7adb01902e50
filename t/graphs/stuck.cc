// User code that breaks its contract: it blocks an engine thread until the given file exists.
#include <agent_graph/agent_graph.h>

#include <agent_graph/json.h>
#include <filesystem>
#include <string>
#include <thread>

namespace {

namespace ag = agent_graph;

void HoldUntilThereIs(const std::string& path) {
  while (!std::filesystem::exists(path)) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

ag::NodeResult HoldNode(const ag::State& state, ag::RunContext&) {
  HoldUntilThereIs(state.LastUserText());
  return ag::Message::Assistant("released");
}

ag::ToolOutput HoldTool(const ag::json& arguments, ag::ToolContext&) {
  HoldUntilThereIs(arguments.at("until"));
  return "released";
}

void BuildNode(ag::GraphBuilder& graph) {
  graph.AddFunction("HOLD", HoldNode, ag::Execution::kNonBlocking).AddEdge(ag::START, "HOLD");
}

void BuildLive(ag::GraphBuilder& graph) {
  graph.AddLiveAgent("VOICE", {.tool_node = "TOOLS"});
  graph.AddToolNode("TOOLS", {{.name = "hold",
                               .description = "Does not let go.",
                               .function = HoldTool,
                               .idempotent = true,
                               .execution = ag::Execution::kNonBlocking}});
  graph.AddEdge(ag::START, "VOICE");
}

}  // namespace

AGENT_GRAPH_EXPORT(node, BuildNode)
AGENT_GRAPH_EXPORT(live, BuildLive)

// A tool whose effect is a line in a file, so that calls can be counted after the worker has died.
#include <agent_graph/agent_graph.h>

#include <agent_graph/json.h>
#include <fstream>
#include <string>

namespace {

namespace ag = agent_graph;

void Mark(const std::string& path, const std::string& line) {
  std::ofstream(path, std::ios::app) << line << std::endl;
}

// `config` contains the folder of the files and the place at which to wait for the worker's end.
ag::ToolOutput Order(const ag::json& arguments, ag::ToolContext& context) {
  const std::string directory = context.config().at("directory");
  const std::string hold = context.config().at("hold");
  const auto wait_at = [&](const char* place) {
    if (hold != place) return;
    Mark(directory + "/held", place);
    while (context.SleepFor(std::chrono::milliseconds(100))) continue;
  };
  wait_at("before");
  Mark(directory + "/effects", arguments.at("item").get<std::string>());
  wait_at("after");
  return ag::json{{"ordered", arguments.at("item")}};
}

void Build(ag::GraphBuilder& graph) {
  graph.AddAgent("MAIN", {.model = "default", .tool_node = "TOOLS"});
  graph.AddToolNode(
      "TOOLS", {{.name = "order",
                 .description = "Orders an item.",
                 .parameters_json = R"({"type":"object","properties":{"item":{"type":"string"}}})",
                 .function = Order}});
  graph.AddEdge(ag::START, "MAIN");
  graph.AddConditionalEdge("MAIN", ag::ToolCallsPending("TOOLS"), {"TOOLS", ag::END});
  graph.AddEdge("TOOLS", "MAIN");
}

}  // namespace

AGENT_GRAPH_EXPORT(app, Build)

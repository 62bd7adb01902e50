// The sample agent: a model with one tool. support.json next to it is the same graph without code.
//
//   g++ -std=c++20 -O2 -fPIC -shared support.cc -o support.so
#include <agent_graph/agent_graph.h>

#include <agent_graph/json.h>
#include <ctime>

using namespace agent_graph;

static ToolOutput CurrentTime(const json& arguments, ToolContext&) {
  int64_t offset_minutes = arguments.value("utc_offset_minutes", 0);
  std::time_t now = std::time(nullptr) + offset_minutes * 60;
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return json{{"time", text}, {"utc_offset_minutes", offset_minutes}};
}

static void Build(GraphBuilder& graph) {
  Tool current_time{
      .name = "current_time",
      .description = "The current date and time, in ISO 8601.",
      .parameters_json =
          R"({"type":"object","properties":{"utc_offset_minutes":{"type":"integer"}}})",
      .function = CurrentTime,
      .idempotent = true,
      .execution = Execution::kNonBlocking};

  graph.SetName("support");
  graph.AddAgent("MAIN", {.model = "default",
                          .system_prompt = "You are a friendly support agent. Answer briefly.",
                          .tool_node = "TOOLS"});
  graph.AddToolNode("TOOLS", {current_time});
  graph.AddEdge(START, "MAIN");
  graph.AddConditionalEdge("MAIN", ToolCallsPending("TOOLS"), {"TOOLS", END});
  graph.AddEdge("TOOLS", "MAIN");
}

AGENT_GRAPH_EXPORT(app, Build)

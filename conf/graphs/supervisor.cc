// A supervisor routes the conversation to a suitable specialist until the task is done.
// supervisor.json is the same without code.
//
//   g++ -std=c++20 -O2 -fPIC -shared supervisor.cc -o supervisor.so
#include <agent_graph/agent_graph.h>

#include <agent_graph/json.h>
#include <ctime>

using namespace agent_graph;

static ToolOutput Multiply(const json& arguments, ToolContext&) {
  return json(arguments.at("a").get<double>() * arguments.at("b").get<double>());
}

static ToolOutput Today(const json&, ToolContext&) {
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

// A specialist: an agent with its own tools, built as a graph that another graph uses as a node.
static void BuildSpecialist(GraphBuilder& graph, const std::string& prompt, Tool tool) {
  graph.AddAgent("AGENT", {.system_prompt = prompt, .tool_node = "TOOLS"});
  graph.AddToolNode("TOOLS", {std::move(tool)});
  graph.AddEdge(START, "AGENT");
  graph.AddConditionalEdge("AGENT", ToolCallsPending("TOOLS"), {"TOOLS", END});
  graph.AddEdge("TOOLS", "AGENT");
}

static std::string Choose(const State& state) {
  const std::string next = state.Field("next").is_string() ? state.Field("next") : "";
  if (next.find("mathematician") != std::string::npos) return "MATH";
  if (next.find("timekeeper") != std::string::npos) return "TIME";
  return END;
}

static void Build(GraphBuilder& graph) {
  GraphBuilder mathematician;
  BuildSpecialist(mathematician,
                  "You are the mathematician. Do the calculations the user asks for and tell the "
                  "results.",
                  {.name = "multiply",
                   .description = "The product of two numbers.",
                   .parameters_json = R"({"type":"object","required":["a","b"],"properties":{
                                          "a":{"type":"number"},"b":{"type":"number"}}})",
                   .function = Multiply,
                   .idempotent = true,
                   .execution = Execution::kNonBlocking});
  GraphBuilder timekeeper;
  BuildSpecialist(timekeeper, "You are the timekeeper. Look the date up and tell it.",
                  {.name = "today",
                   .description = "Today's date.",
                   .function = Today,
                   .idempotent = true,
                   .execution = Execution::kNonBlocking});

  graph.SetName("supervisor");
  graph.AddField({.name = "next", .default_json = "\"\"", .schema_json = R"({"type":"string"})"});
  graph.AddAgent("SUPERVISOR",
                 {.system_prompt = "You lead a team: the mathematician calculates, the timekeeper "
                                   "knows dates and times. Read the conversation and answer with "
                                   "one word only: mathematician or timekeeper, whoever must go on "
                                   "with it, or done when the user's question has been answered.",
                  .output_field = "next"});
  graph.AddSubgraph("MATH", mathematician).AddSubgraph("TIME", timekeeper);
  graph.AddEdge(START, "SUPERVISOR");
  graph.AddConditionalEdge("SUPERVISOR", Choose, {"MATH", "TIME", END});
  graph.AddEdge("MATH", "SUPERVISOR").AddEdge("TIME", "SUPERVISOR");
}

AGENT_GRAPH_EXPORT(app, Build)

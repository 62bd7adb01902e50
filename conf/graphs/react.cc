// A ReAct agent: it calls as many tools at once as it needs, reads the results and continues until
// it can answer. react.json is the same with built-in tools and no code.
//
//   g++ -std=c++20 -O2 -fPIC -shared react.cc -o react.so
#include <agent_graph/agent_graph.h>

#include <agent_graph/json.h>
#include <chrono>

using namespace agent_graph;
using std::chrono::milliseconds;

// Slow on purpose, like a remote service: tool calls of one turn run in parallel.
static ToolOutput Distance(const json& arguments, ToolContext& context) {
  context.SleepFor(milliseconds(50));
  const std::string from = arguments.at("from");
  const std::string to = arguments.at("to");
  if (from.empty() || to.empty()) return ToolOutput::Error("both places need a name");
  return json{{"from", from}, {"to", to}, {"km", 100 * (from.size() + to.size())}};
}

static ToolOutput Convert(const json& arguments, ToolContext&) {
  return json{{"miles", arguments.at("km").get<double>() * 0.621371}};
}

static void Build(GraphBuilder& graph) {
  Tool distance{.name = "distance",
                .description = "Kilometres between two places.",
                .parameters_json = R"({"type":"object","required":["from","to"],"properties":{
                             "from":{"type":"string"},"to":{"type":"string"}}})",
                .function = Distance,
                .idempotent = true,
                .timeout = milliseconds(5'000)};
  Tool convert{.name = "km_to_miles",
               .description = "Kilometres in miles.",
               .parameters_json = R"({"type":"object","required":["km"],"properties":{
                                      "km":{"type":"number"}}})",
               .function = Convert,
               .idempotent = true,
               .execution = Execution::kNonBlocking};

  graph.SetName("react");
  graph.AddAgent("MAIN", {.system_prompt = "Answer the question. Use the tools for distances, "
                                           "several at once when they do not depend on each other.",
                          .tool_node = "TOOLS"});
  graph.AddToolNode("TOOLS", {distance, convert});
  graph.AddEdge(START, "MAIN");
  graph.AddConditionalEdge("MAIN", ToolCallsPending("TOOLS"), {"TOOLS", END});
  graph.AddEdge("TOOLS", "MAIN");
  graph.SetTimeout("MAIN", milliseconds(120'000));
  graph.SetRetry("MAIN", {.attempts_max = 2, .delay = milliseconds(500)});
  graph.SetContext({.messages_max = 60, .summarize = true});
}

AGENT_GRAPH_EXPORT(app, Build)

// A voice agent, a second agent to which it can hand over, and a tool with a tag. live.json next to
// it is nearly the same without code.
//
//   g++ -std=c++20 -O2 -fPIC -shared live.cc -o live.so
#include <agent_graph/agent_graph.h>

#include <agent_graph/json.h>
#include <ctime>

using namespace agent_graph;

static ToolOutput CurrentTime(const json&, ToolContext&) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%H:%M", &parts);
  return text;
}

static void Build(GraphBuilder& graph) {
  Tool current_time{.name = "current_time",
                    .description = "What time it is in Greenwich.",
                    .function = CurrentTime,
                    .idempotent = true,
                    .execution = Execution::kNonBlocking,
                    .tags = {"clock"}};

  graph.SetName("live");
  graph.AddLiveAgent("VOICE", {.system_prompt = "You answer the phone. Be brief and friendly.",
                               .tool_node = "TOOLS",
                               .vad = {.silence_duration_ms = 500},
                               .sub_agents = {"EXPERT"}});
  graph.AddLiveAgent("EXPERT", {.system_prompt = "You are an expert. Take your time and explain.",
                                .tool_node = "TOOLS",
                                .description = "answers difficult questions at length"});
  graph.AddToolNode("TOOLS", {current_time});
  graph.AddEdge(START, "VOICE");
}

AGENT_GRAPH_EXPORT(app, Build)

// Tells what a node sees of the caller.
#include <agent_graph/agent_graph.h>

#include <nlohmann/json.hpp>

using namespace agent_graph;

static NodeResult Tell(const State&, RunContext& context) {
  nlohmann::json seen = {{"user", context.user()}, {"config", context.config()}};
  return Message::Assistant(seen.dump());
}

static void Build(GraphBuilder& graph) {
  graph.AddFunction("TELL", Tell);
  graph.AddEdge(START, "TELL").AddEdge("TELL", END);
}

AGENT_GRAPH_EXPORT(app, Build)

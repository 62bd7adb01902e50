// The cheapest possible graph: one function node that answers at once. A benchmark with it measures
// everything around the graph.
#include <agent_graph/agent_graph.h>

using namespace agent_graph;

static NodeResult Echo(const State& state, RunContext&) {
  return Message::Assistant("you said: " + state.LastUserText());
}

static void Build(GraphBuilder& graph) {
  graph.AddFunction("ECHO", Echo, Execution::kNonBlocking);
  graph.AddEdge(START, "ECHO");
  graph.AddEdge("ECHO", END);
}

AGENT_GRAPH_EXPORT(app, Build)

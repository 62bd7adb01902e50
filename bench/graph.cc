// The cheapest graph there is: one function node that answers at once. What is measured with it is
// everything around it.
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

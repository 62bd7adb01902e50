// Needs a function that no server exports.
#include <agent_graph/agent_graph.h>

namespace agent_graph {
AGENT_GRAPH_API void FunctionOfTheFuture();
}

static void Build(agent_graph::GraphBuilder&) {
  agent_graph::FunctionOfTheFuture();
}
AGENT_GRAPH_EXPORT(app, Build)

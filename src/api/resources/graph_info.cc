// GET /v1/graph and /v1/graph:StateSchema: the graph that is served and its state.

#include "agent_graph/json.h"
#include "api/http/context.h"
#include "api/resources/handlers.h"
#include "base/json.h"
#include "graph/compiled_graph.h"

namespace agent_graph::api {
namespace {

// Ids are equal to names, so that they are the same in every response. START and END are listed as
// nodes, because clients draw edges between listed nodes.
json Nodes(const graph::CompiledGraph& graph) {
  json nodes = json::array();
  auto add = [&](const std::string& name) { nodes.push_back({{"id", name}, {"name", name}}); };
  add(START);
  for (const graph::Node& node : graph.nodes()) add(node.name);
  add(END);
  return nodes;
}

json Edges(const std::vector<graph::EdgeView>& views) {
  json edges = json::array();
  for (const graph::EdgeView& edge : views) {
    edges.push_back({{"id", edge.source + "->" + edge.target},
                     {"source", edge.source},
                     {"target", edge.target}});
  }
  return edges;
}

json ContextType(const graph::CompiledGraph& graph) {
  if (!graph.context()) return nullptr;
  return graph.context()->summarize ? "SummaryContext" : "WindowContext";
}

json Info(const ApiContext& api, size_t node_count, size_t edge_count) {
  const graph::CompiledGraph& graph = *api.graph;
  json info;
  info["node_count"] = node_count;
  info["edge_count"] = edge_count;
  info["is_realtime"] = graph.live_root() != nullptr;
  info["checkpointer"] = api.state != nullptr;
  info["checkpointer_type"] = api.state != nullptr ? json(api.state->TypeName()) : json();
  info["publisher"] = api.settings->observability.enabled;
  info["store"] = api.memory != nullptr;
  info["interrupt_before"] = graph.interrupt_before();
  info["interrupt_after"] = graph.interrupt_after();
  info["context_type"] = ContextType(graph);
  info["id_generator"] = api.ids->name();
  info["id_type"] = api.ids->type();
  info["state_type"] = "AgentState";
  info["state_fields"] = graph.StateFieldNames();
  return info;
}

}  // namespace

void GetGraph(HandlerContext& context) {
  const graph::CompiledGraph& graph = *context.api().graph;
  std::vector<graph::EdgeView> edges = graph.edges();
  json data;
  json nodes = Nodes(graph);
  data["info"] = Info(context.api(), nodes.size(), edges.size());
  data["nodes"] = std::move(nodes);
  data["edges"] = Edges(edges);
  context.Succeed(DumpJson(data));
}

void GetStateSchema(HandlerContext& context) {
  context.Succeed(context.api().graph->state_schema_json());
}

}  // namespace agent_graph::api

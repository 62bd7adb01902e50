// GET /v1/graph and /v1/graph:StateSchema: what graph is served, and with what.
#include <nlohmann/json.hpp>

#include "api/context.h"
#include "api/handlers.h"
#include "base/json.h"
#include "graph/compiled_graph.h"

namespace agent_graph::api {
namespace {

using nlohmann::json;

// Ids are derived from names, so that a client sees the same ones in every answer.
json Nodes(const graph::CompiledGraph& graph) {
  json nodes = json::array();
  for (const graph::Node& node : graph.nodes()) {
    nodes.push_back({{"id", node.name}, {"name", node.name}});
  }
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

json Info(const ApiContext& api, size_t edge_count) {
  const graph::CompiledGraph& graph = *api.graph;
  json info;
  info["node_count"] = graph.nodes().size();
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
  data["info"] = Info(context.api(), edges.size());
  data["nodes"] = Nodes(graph);
  data["edges"] = Edges(edges);
  context.Succeed(DumpJson(data));
}

void GetStateSchema(HandlerContext& context) {
  context.Succeed(context.api().graph->state_schema_json());
}

}  // namespace agent_graph::api

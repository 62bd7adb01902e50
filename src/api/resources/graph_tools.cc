// GET /v1/graph/tools: the tools that each tool node currently offers.
#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "api/http/context.h"
#include "api/resources/handlers.h"
#include "base/json.h"
#include "run/nodes/concurrently.h"
#include "run/nodes/node_tools.h"

namespace agent_graph::api {
namespace {

constexpr size_t kNodesAtOnce = 16;  // concurrent queries; each may wait for MCP servers
constexpr std::chrono::seconds kServersTimeout{30};

std::vector<std::string> ToolNodes(const graph::CompiledGraph& graph) {
  std::vector<std::string> names;
  for (const graph::Node& node : graph.nodes()) {
    if (std::holds_alternative<graph::ToolNode>(node.kind)) names.push_back(node.name);
  }
  return names;
}

const char* SourceName(tools::ToolOrigin origin) {
  switch (origin) {
    case tools::ToolOrigin::kLocal:
      return "local";
    case tools::ToolOrigin::kMcp:
      return "mcp";
    case tools::ToolOrigin::kRemote:
      return "remote";
  }
  return "local";
}

json Describe(const run::OfferedTool& offered) {
  Result<json> parameters = ParseJson(offered.tool->parameters_json);
  return {{"name", offered.tool->name},
          {"description", offered.tool->description},
          {"source", SourceName(offered.origin)},
          {"tags", offered.tool->tags},
          {"parameters", parameters.ok() ? *std::move(parameters) : json::object()}};
}

}  // namespace

void GetTools(HandlerContext& context) {
  const ApiContext& api = context.api();
  run::RemoteToolSetPtr remote_tools;
  if (api.remote_tools != nullptr) {
    Result<run::RemoteToolSetPtr> newest = api.remote_tools->Newest();
    if (!newest.ok()) return context.Fail(newest.status());
    remote_tools = *std::move(newest);
  }
  const std::vector<std::string> names = ToolNodes(*api.graph);
  std::vector<run::OfferedTools> offered(names.size());
  const Deadline deadline = DeadlineAfter(kServersTimeout);
  run::ForEachConcurrently(*api.runtime, names.size(), kNodesAtOnce, [&](size_t i) {
    offered[i] = run::ToolsOf(api.graph, names[i], api.catalog, remote_tools.get(),
                              context.exchange().cancellation(), deadline);
  });
  json nodes = json::array();
  size_t tool_count = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    json tools = json::array();
    for (const run::OfferedTool& tool : offered[i]) tools.push_back(Describe(tool));
    tool_count += tools.size();
    const size_t count = tools.size();
    nodes.push_back({{"node_name", names[i]}, {"tool_count", count}, {"tools", std::move(tools)}});
  }
  const size_t node_count = nodes.size();
  context.Succeed(DumpJson(
      {{"node_count", node_count}, {"tool_count", tool_count}, {"nodes", std::move(nodes)}}));
}

}  // namespace agent_graph::api

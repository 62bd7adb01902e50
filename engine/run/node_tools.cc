#include "run/node_tools.h"

#include <utility>

namespace agent_graph::run {

OfferedTools ToolsOf(const std::shared_ptr<const graph::CompiledGraph>& graph,
                     std::string_view node, tools::Catalog* catalog,
                     const runtime::Cancellation& cancellation, Deadline deadline) {
  OfferedTools offered;
  const graph::Node* found = graph->FindNode(node);
  const auto* own = found == nullptr ? nullptr : std::get_if<graph::ToolNode>(&found->kind);
  if (own == nullptr) return offered;
  offered.reserve(own->tools.size());
  for (const Tool& tool : own->tools) {
    offered.push_back({std::shared_ptr<const Tool>(graph, &tool)});
  }
  if (catalog == nullptr) return offered;
  for (const tools::CatalogToolPtr& entry : catalog->ToolsOf(node, cancellation, deadline)) {
    if (own->Find(entry->tool.name) != nullptr) continue;
    offered.push_back({std::shared_ptr<const Tool>(entry, &entry->tool), entry->origin});
  }
  return offered;
}

std::shared_ptr<const Tool> FindTool(const OfferedTools& tools, std::string_view name) {
  for (const OfferedTool& offered : tools) {
    if (offered.tool->name == name) return offered.tool;
  }
  return nullptr;
}

}  // namespace agent_graph::run

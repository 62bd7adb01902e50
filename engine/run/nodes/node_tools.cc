#include "run/nodes/node_tools.h"

#include <algorithm>
#include <utility>

namespace agent_graph::run {

OfferedTools ToolsOf(const std::shared_ptr<const graph::CompiledGraph>& graph,
                     std::string_view node, tools::Catalog* catalog,
                     const RemoteToolSet* remote_tools, const runtime::Cancellation& cancellation,
                     Deadline deadline) {
  OfferedTools offered;
  const graph::Node* found = graph->FindNode(node);
  const auto* own = found == nullptr ? nullptr : std::get_if<graph::ToolNode>(&found->kind);
  if (own == nullptr) return offered;
  offered.reserve(own->tools.size());
  for (size_t i = 0; i < own->tools.size(); ++i) {
    offered.push_back({std::shared_ptr<const Tool>(graph, &own->tools[i]),
                       tools::ToolOrigin::kLocal, own->schemas.at(i)});
  }
  const auto add = [&](const tools::ToolList& list, bool has_all_tags) {
    for (const tools::CatalogToolPtr& entry : list) {
      if (FindTool(offered, entry->tool.name) != nullptr) continue;
      offered.push_back({std::shared_ptr<const Tool>(entry, &entry->tool), entry->origin,
                         entry->schema, has_all_tags});
    }
  };
  if (catalog != nullptr) add(catalog->ToolsOf(node, cancellation, deadline), false);
  if (remote_tools != nullptr) add(remote_tools->Of(node), remote_tools->has_all_tags());
  return offered;
}

OfferedTools WithTags(OfferedTools tools, const std::vector<std::string>& tags) {
  if (tags.empty()) return tools;
  std::erase_if(tools, [&](const OfferedTool& offered) {
    if (offered.has_all_tags) return false;
    const std::vector<std::string>& own = offered.tool->tags;
    return std::find_first_of(own.begin(), own.end(), tags.begin(), tags.end()) == own.end();
  });
  return tools;
}

const OfferedTool* FindTool(const OfferedTools& tools, std::string_view name) {
  for (const OfferedTool& offered : tools) {
    if (offered.tool->name == name) return &offered;
  }
  return nullptr;
}

}  // namespace agent_graph::run

// What a tool node offers at the moment: its own tools, and those of its catalog.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "graph/compiled_graph.h"
#include "runtime/cancellation.h"
#include "tools/catalog.h"

namespace agent_graph::run {

struct OfferedTool {
  std::shared_ptr<const Tool> tool;
  tools::ToolOrigin origin = tools::ToolOrigin::kLocal;
};

using OfferedTools = std::vector<OfferedTool>;

// On a fiber; may wait as Catalog::ToolsOf does. No name twice. Nothing when `node` is no tool
// node. `catalog` may be null.
OfferedTools ToolsOf(const std::shared_ptr<const graph::CompiledGraph>& graph,
                     std::string_view node, tools::Catalog* catalog,
                     const runtime::Cancellation& cancellation, Deadline deadline);

// Null: there is no tool of that name.
std::shared_ptr<const Tool> FindTool(const OfferedTools& tools, std::string_view name);

}  // namespace agent_graph::run

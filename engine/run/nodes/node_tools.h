// The tools that a tool node currently offers: its own, those of its catalog, and remote tools.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "graph/compiled_graph.h"
#include "run/nodes/remote_tools.h"
#include "runtime/cancellation.h"
#include "tools/catalog.h"

namespace agent_graph::run {

struct OfferedTool {
  std::shared_ptr<const Tool> tool;
  tools::ToolOrigin origin = tools::ToolOrigin::kLocal;
  tools::JsonSchemaPtr schema = nullptr;  // schema of the arguments; null: not checked
  bool has_all_tags = false;
};

using OfferedTools = std::vector<OfferedTool>;

// Call on a fiber: it may be suspended like Catalog::ToolsOf. Names are unique. Returns an empty
// list if `node` is not a tool node. `catalog` and `remote_tools` may be null.
OfferedTools ToolsOf(const std::shared_ptr<const graph::CompiledGraph>& graph,
                     std::string_view node, tools::Catalog* catalog,
                     const RemoteToolSet* remote_tools, const runtime::Cancellation& cancellation,
                     Deadline deadline);

// Returns the tools with one of `tags`; all tools if `tags` is empty.
OfferedTools WithTags(OfferedTools tools, const std::vector<std::string>& tags);

// Returns null if no tool has that name.
const OfferedTool* FindTool(const OfferedTools& tools, std::string_view name);

}  // namespace agent_graph::run

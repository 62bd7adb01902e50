// What a tool node offers at the moment: its own tools, those of its catalog, and remote ones.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "graph/compiled_graph.h"
#include "run/remote_tools.h"
#include "runtime/cancellation.h"
#include "tools/catalog.h"

namespace agent_graph::run {

struct OfferedTool {
  std::shared_ptr<const Tool> tool;
  tools::ToolOrigin origin = tools::ToolOrigin::kLocal;
  tools::JsonSchemaPtr schema = nullptr;  // of its arguments; null: they are not checked
};

using OfferedTools = std::vector<OfferedTool>;

// On a fiber; may wait as Catalog::ToolsOf does. No name twice. Nothing when `node` is no tool
// node. `catalog` and `remote_tools` may be null.
OfferedTools ToolsOf(const std::shared_ptr<const graph::CompiledGraph>& graph,
                     std::string_view node, tools::Catalog* catalog,
                     const RemoteToolSet* remote_tools, const runtime::Cancellation& cancellation,
                     Deadline deadline);

// Those with one of `tags`; all when there are none.
OfferedTools WithTags(OfferedTools tools, const std::vector<std::string>& tags);

// Null: there is no tool of that name.
const OfferedTool* FindTool(const OfferedTools& tools, std::string_view name);

}  // namespace agent_graph::run

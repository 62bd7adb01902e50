// A tool with its origin.
#pragma once

#include <memory>
#include <vector>

#include "agent_graph/tool.h"

namespace agent_graph::tools {

enum class ToolOrigin : uint8_t {
  kLocal,  // declared in the graph
  kMcp,    // discovered from a server
};

struct CatalogTool {
  Tool tool;
  ToolOrigin origin = ToolOrigin::kLocal;
};

using CatalogToolPtr = std::shared_ptr<const CatalogTool>;
using ToolList = std::vector<CatalogToolPtr>;

}  // namespace agent_graph::tools

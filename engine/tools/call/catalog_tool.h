// A tool with its origin.
#pragma once

#include <memory>
#include <vector>

#include "agent_graph/tool.h"
#include "tools/schema/json_schema.h"

namespace agent_graph::tools {

enum class ToolOrigin : uint8_t {
  kLocal,   // declared in the graph
  kMcp,     // discovered from a server
  kRemote,  // executed by the client; has no function
};

struct CatalogTool {
  Tool tool;
  ToolOrigin origin = ToolOrigin::kLocal;
  JsonSchemaPtr schema = nullptr;  // schema of the arguments; null: not checked
};

using CatalogToolPtr = std::shared_ptr<const CatalogTool>;
using ToolList = std::vector<CatalogToolPtr>;

}  // namespace agent_graph::tools

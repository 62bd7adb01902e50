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
  kRemote,  // the client runs it; has no function
};

struct CatalogTool {
  Tool tool;
  ToolOrigin origin = ToolOrigin::kLocal;
  JsonSchemaPtr schema = nullptr;  // of its arguments; null: they are not checked
};

using CatalogToolPtr = std::shared_ptr<const CatalogTool>;
using ToolList = std::vector<CatalogToolPtr>;

}  // namespace agent_graph::tools

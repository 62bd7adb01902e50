// The tools of a graph's tool nodes that are not C++ functions: HTTP tools, and the tools that MCP
// servers currently offer.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/run_context.h"
#include "agent_graph/tool_sources.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/status.h"
#include "runtime/cancellation.h"
#include "tools/call/catalog_tool.h"

namespace agent_graph::process {
class Launcher;
}
namespace agent_graph::runtime {
class Runtime;
}

namespace agent_graph::tools {

namespace mcp {
class Source;
}

// The tool sources that one tool node of a graph declares.
struct NodeSources {
  std::string node;
  std::vector<HttpTool> http_tools;
  std::vector<McpServer> mcp_servers;
};

// One per worker; thread-safe. Connects to servers only in ToolsOf.
class Catalog {
 public:
  using LogFunction = std::function<void(LogLevel level, const std::string& line)>;

  // Returns kInvalidArgument, with the names of node and tool or server, if a variable is not set
  // or a URL is invalid. `launcher` starts the programs of servers; it may be null if ToolsOf is
  // never called.
  static Result<std::unique_ptr<Catalog>> Create(
      const std::vector<NodeSources>& nodes, const Environment& environment,
      const std::shared_ptr<const process::Launcher>& launcher = nullptr);
  ~Catalog();

  // Call before the first call of ToolsOf. `log` is called on engine threads.
  void LogTo(LogFunction log);

  // Returns the HTTP tools of the node, then the tools of its servers; names are unique. Call on a
  // fiber: it is suspended while the tools of a server are not known yet. A server that fails
  // contributes no tools. The tools must be called with an EngineToolContext.
  ToolList ToolsOf(std::string_view node, const runtime::Cancellation& cancellation,
                   Deadline deadline);

  // Ends background work, on fibers of `runtime`. Later calls of ToolsOf do not wait.
  void Close(runtime::Runtime& runtime);

 private:
  struct NodeTools {
    ToolList http_tools;
    std::vector<std::shared_ptr<mcp::Source>> servers;
  };

  Catalog() = default;

  const std::shared_ptr<LogFunction> log_ = std::make_shared<LogFunction>();
  std::map<std::string, NodeTools, std::less<>> nodes_;  // only nodes with tools in this catalog
};

}  // namespace agent_graph::tools

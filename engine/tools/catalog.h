// The tools of a graph's tool nodes that are no C++ functions: HTTP tools, and what MCP servers
// offer at the moment.
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
#include "tools/catalog_tool.h"

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

// What one tool node of a graph declares.
struct NodeSources {
  std::string node;
  std::vector<HttpTool> http_tools;
  std::vector<McpServer> mcp_servers;
};

// One per worker; thread-safe. Connects to nothing before the first call of ToolsOf.
class Catalog {
 public:
  using LogFunction = std::function<void(LogLevel level, const std::string& line)>;

  // kInvalidArgument names node and tool or server: a variable is not set, or a URL is not usable.
  // `launcher` starts the programs of servers; null when nothing will be asked.
  static Result<std::unique_ptr<Catalog>> Create(
      const std::vector<NodeSources>& nodes, const Environment& environment,
      std::shared_ptr<const process::Launcher> launcher = nullptr);
  ~Catalog();

  // Before the first call of ToolsOf. `log` is called on engine threads.
  void LogTo(LogFunction log);

  // On a fiber. The HTTP tools of the node, then those of its servers, no name twice. Waits for
  // servers whose tools are not known yet; one that fails contributes none. Tools need an
  // EngineToolContext when they are called.
  ToolList ToolsOf(std::string_view node, const runtime::Cancellation& cancellation,
                   Deadline deadline);

  // Ends what runs in the background, on fibers of `runtime`. No call of ToolsOf waits afterwards.
  void Close(runtime::Runtime& runtime);

 private:
  struct NodeTools {
    ToolList http_tools;
    std::vector<std::shared_ptr<mcp::Source>> servers;
  };

  Catalog() = default;

  const std::shared_ptr<LogFunction> log_ = std::make_shared<LogFunction>();
  std::map<std::string, NodeTools, std::less<>> nodes_;  // only those with tools here
};

}  // namespace agent_graph::tools

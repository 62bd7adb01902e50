// A worker's cache of one MCP server's tools: loaded on first use, and again after changes.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent_graph/run_context.h"
#include "agent_graph/tool_sources.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "runtime/cancellation.h"
#include "runtime/signal.h"
#include "tools/call/catalog_tool.h"
#include "tools/mcp/http/streamable_client.h"
#include "tools/mcp/protocol/client.h"
#include "tools/mcp/stdio/stdio_client.h"

namespace agent_graph::runtime {
class Runtime;
}

namespace agent_graph::tools::mcp {

inline constexpr size_t kToolsMax = 256;  // per server; further tools are ignored

using LogFunction = std::function<void(LogLevel level, const std::string& line)>;

// Thread-safe. Discovery runs on a separate fiber, so that a cancelled run does not stop it for
// other runs.
class Source : public std::enable_shared_from_this<Source> {
 public:
  // `options` contains everything needed to connect, with variables expanded.
  static std::shared_ptr<Source> Create(McpServer server, StreamableClient::Options options,
                                        std::shared_ptr<const net::HttpClient> http,
                                        std::shared_ptr<const LogFunction> log);
  static std::shared_ptr<Source> Create(McpServer server, StdioClient::Options options,
                                        std::shared_ptr<const process::Launcher> launcher,
                                        std::shared_ptr<const LogFunction> log);

  // Starts discovery if it is due and returns at once; Tools then waits for it. Call on a fiber.
  void Prepare();
  // Returns the server's tools; empty if the server fails. Suspends the fiber while the tools are
  // unknown or known to be outdated, at most for the discovery timeout and until `deadline`.
  ToolList Tools(const runtime::Cancellation& cancellation, Deadline deadline);

  // Ends background work and the session soon. Call on any thread.
  void Close(runtime::Runtime& runtime);

 private:
  Source(McpServer server, std::shared_ptr<const LogFunction> log);

  static std::function<void()> MarkerOf(const std::shared_ptr<Source>& source);
  bool IsDue(Deadline now) const AG_REQUIRES(mutex_);
  bool MustWait() const AG_REQUIRES(mutex_);
  // The tools that a discovery has found.
  struct Found {
    ToolList tools;
    std::vector<std::string> problems;
    std::chrono::milliseconds refresh{0};
  };
  void Discover();
  Result<Found> Find();
  void Accept(Result<Found> found, uint64_t changes);
  // Appends a text for each tool that the server describes wrongly, and leaves that tool out.
  ToolList MakeTools(const ListedTools& listed, std::vector<std::string>& problems) const;
  CatalogToolPtr MakeTool(const json& described, bool marks_headers, std::string& problem) const;
  std::chrono::milliseconds RefreshOf(const ListedTools& listed) const;
  // Listens repeatedly until it fails.
  Status ListenOn(bool& was_open);
  void ListenInBackground(std::chrono::milliseconds delay);
  Result<bool> ListenAfter(std::chrono::milliseconds delay);
  void StopListening(const Result<bool>& opened);
  void MarkChanged();
  void Log(LogLevel level, const std::string& text) const;

  const McpServer server_;
  const std::shared_ptr<const LogFunction> log_;
  std::shared_ptr<Client> client_;
  const runtime::Cancellation closing_;

  Mutex mutex_;
  ToolList tools_ AG_GUARDED_BY(mutex_);
  // tools_ is the server's list, or empty because the server failed.
  bool known_ AG_GUARDED_BY(mutex_) = false;
  uint64_t changes_ AG_GUARDED_BY(mutex_) = 0;        // announced by the server, or possible
  uint64_t changes_known_ AG_GUARDED_BY(mutex_) = 0;  // included in tools_
  bool discovering_ AG_GUARDED_BY(mutex_) = false;
  bool listening_ AG_GUARDED_BY(mutex_) = false;
  bool failing_ AG_GUARDED_BY(mutex_) = false;
  std::chrono::milliseconds retry_delay_ AG_GUARDED_BY(mutex_){0};
  // Before the next listener begins.
  std::chrono::milliseconds listen_delay_ AG_GUARDED_BY(mutex_){0};
  Deadline due_ AG_GUARDED_BY(mutex_) = Deadline::min();
  std::vector<std::shared_ptr<runtime::Signal>> waiting_ AG_GUARDED_BY(mutex_);
};

}  // namespace agent_graph::tools::mcp

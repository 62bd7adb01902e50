// Remote tools, which clients execute: those that the graph and the service declare, and those
// registered since nginx started. Registered tools replace the declared ones of their node.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "graph/compiled_graph.h"
#include "run/run_environment.h"
#include "run/run_request.h"
#include "state/types.h"
#include "tools/call/catalog_tool.h"

namespace agent_graph::state {
class Service;
}

namespace agent_graph::run {

// Coding agents describe tools such as editors and shells on several pages.
inline constexpr size_t kRemoteToolDescriptionBytesMax = 64 * 1024;
inline constexpr size_t kRemoteToolSchemaBytesMax = 64 * 1024;

// The remote tools of all tool nodes at one time. Immutable.
class RemoteToolSet {
 public:
  explicit RemoteToolSet(const std::vector<state::RemoteTool>& tools);
  // The tools of one run's client, at every tool node that has no tool of that name, and for agents
  // without a tool node.
  RemoteToolSet(const graph::CompiledGraph& graph, const std::vector<ClientTool>& tools);

  // Returns the node's tools, which have no functions; empty if the node has none.
  const tools::ToolList& Of(std::string_view node) const;
  // Returns the tools for agents without a tool node, whose calls end the run.
  const tools::ToolList& OfNoNode() const { return Of(""); }
  // True if agents are offered the tools whatever tags they select.
  bool has_all_tags() const { return has_all_tags_; }

 private:
  bool has_all_tags_ = false;
  std::map<std::string, tools::ToolList, std::less<>> nodes_;
};

using RemoteToolSetPtr = std::shared_ptr<const RemoteToolSet>;

RemoteToolSetPtr ClientToolSet(const graph::CompiledGraph& graph,
                               const std::vector<ClientTool>& tools);

// Returns the remote tools that the graph's tool nodes declare.
std::vector<state::RemoteTool> DeclaredRemoteTools(const graph::CompiledGraph& graph);

// Why a tool is invalid for this graph: the field ("node", "name", "description" or "parameters")
// and a text.
struct RemoteToolProblem {
  std::string field;
  std::string text;
};
std::optional<RemoteToolProblem> FindProblem(const graph::CompiledGraph& graph,
                                             const state::RemoteTool& tool);
// The same for a tool of a run's client.
std::optional<RemoteToolProblem> FindClientToolProblem(const graph::CompiledGraph& graph,
                                                       const ClientTool& tool);

// The worker's cache of remote tools; one per worker. Thread-safe. AsOf, Newest and SetUp suspend
// the calling fiber while they call the state service.
class RemoteTools {
 public:
  // `declared` must be valid. `generation` identifies this nginx instance from start to end.
  // Without `state` only the declared tools exist.
  RemoteTools(std::vector<state::RemoteTool> declared, state::Service* state,
              std::string generation, LogFunction log);

  // Returns the tools for a run that began when the state had `version`. Calls the state service
  // only for a version that is not cached; if the call fails, the cached tools are used.
  RemoteToolSetPtr AsOf(uint64_t version);
  // Returns the current tools.
  Result<RemoteToolSetPtr> Newest();
  // Replaces the remote tools of the nodes that `tools` names, for all workers.
  Status SetUp(std::vector<state::RemoteTool> tools);

 private:
  Result<RemoteToolSetPtr> Read();

  const std::vector<state::RemoteTool> declared_;
  state::Service* const state_;
  const std::string generation_;
  const LogFunction log_;

  Mutex mutex_;
  uint64_t version_ AG_GUARDED_BY(mutex_) = 0;  // version of current_
  RemoteToolSetPtr current_ AG_GUARDED_BY(mutex_);
};

}  // namespace agent_graph::run

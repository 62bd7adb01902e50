// The tools that clients run: those a graph and its service declare, and those that were set up
// since nginx was started, which stand in for the declared ones of their node.
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
#include "run/runner.h"
#include "state/types.h"
#include "tools/catalog_tool.h"

namespace agent_graph::state {
class Service;
}

namespace agent_graph::run {

inline constexpr size_t kRemoteToolDescriptionBytesMax = 4096;
inline constexpr size_t kRemoteToolSchemaBytesMax = 64 * 1024;

// By tool node, as of one moment; immutable.
class RemoteToolSet {
 public:
  explicit RemoteToolSet(const std::vector<state::RemoteTool>& tools);

  // Without functions; empty for a node that has none.
  const tools::ToolList& Of(std::string_view node) const;

 private:
  std::map<std::string, tools::ToolList, std::less<>> nodes_;
};

using RemoteToolSetPtr = std::shared_ptr<const RemoteToolSet>;

// Those that the graph's tool nodes declare.
std::vector<state::RemoteTool> DeclaredRemoteTools(const graph::CompiledGraph& graph);

// What is wrong with a tool for this graph: "node", "name", "description" or "parameters", and why.
struct RemoteToolProblem {
  std::string field;
  std::string text;
};
std::optional<RemoteToolProblem> FindProblem(const graph::CompiledGraph& graph,
                                             const state::RemoteTool& tool);

// One per worker; thread-safe.
class RemoteTools {
 public:
  // `declared` have no problems. `generation` names this nginx from start to end. Without `state`
  // there are the declared tools only.
  RemoteTools(std::vector<state::RemoteTool> declared, state::Service* state,
              std::string generation, LogFunction log);

  // Those of a run that began when the state was at `version`. Asks the state only for a version it
  // has not seen; when it does not answer, what is known has to do.
  RemoteToolSetPtr AsOf(uint64_t version);
  // As of now.
  Result<RemoteToolSetPtr> Newest();
  // Replaces the remote tools of the nodes that `tools` names, in all workers.
  Status SetUp(std::vector<state::RemoteTool> tools);

 private:
  Result<RemoteToolSetPtr> Read();

  const std::vector<state::RemoteTool> declared_;
  state::Service* const state_;
  const std::string generation_;
  const LogFunction log_;

  Mutex mutex_;
  uint64_t version_ AG_GUARDED_BY(mutex_) = 0;  // of current_
  RemoteToolSetPtr current_ AG_GUARDED_BY(mutex_);
};

}  // namespace agent_graph::run

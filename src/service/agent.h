// The agent of a service: its graph, the models the graph asks, the tools it gets from elsewhere
// and what turns memories into vectors. The same code builds it in a worker and in the validation
// child, so that `nginx -t` checks what workers will run.
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "graph/compiled_graph.h"
#include "memory/embedder.h"
#include "models/registry.h"
#include "process/process.h"
#include "realtime/registry.h"
#include "run/runner.h"
#include "settings/settings.h"
#include "state/types.h"
#include "tools/catalog.h"

namespace agent_graph::service {

struct Agent {
  std::shared_ptr<const graph::CompiledGraph> graph;
  std::unique_ptr<models::Registry> models;
  std::unique_ptr<realtime::Registry> realtime;
  std::unique_ptr<tools::Catalog> catalog;
  std::unique_ptr<memory::Embedder> embedder;   // null: no memory store
  run::ThreadNamer name_thread;                 // empty: threads have no names
  std::vector<state::RemoteTool> remote_tools;  // of the graph and of service.json
};

// Runs user code (a shared object's builder). Starts no thread. A failure is one line that names
// the file or key and the reason.
// `launcher` starts programs; null where nothing is run.
Result<Agent> BuildAgent(const settings::Settings& settings,
                         std::shared_ptr<const process::Launcher> launcher);

}  // namespace agent_graph::service

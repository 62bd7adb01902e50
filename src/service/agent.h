// The agent of a service: its graph, models, realtime models, tools and embedder. A worker and the
// validation child build it with the same code, so `nginx -t` checks what workers will run.
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "graph/compiled_graph.h"
#include "memory/embedder.h"
#include "models/registry.h"
#include "process/process.h"
#include "realtime/registry.h"
#include "run/run_environment.h"
#include "settings/settings.h"
#include "state/types.h"
#include "tools/catalog.h"

namespace agent_graph::service {

struct Agent {
  std::shared_ptr<const graph::CompiledGraph> graph;
  std::unique_ptr<models::Registry> models;
  std::unique_ptr<realtime::Registry> realtime;
  std::unique_ptr<tools::Catalog> catalog;
  std::unique_ptr<memory::Embedder> embedder;  // null: no memory store
  run::ThreadNamer name_thread;                // empty: threads get no names
  // Tools that clients run, from the graph and service.json.
  std::vector<state::RemoteTool> remote_tools;
};

// Builds the agent. Runs user code (the builder of a shared object) and starts no thread. The text
// of a failure is one line that names the file or key and the reason. `launcher` starts programs;
// null where no program may be started.
Result<Agent> BuildAgent(const settings::Settings& settings,
                         std::shared_ptr<const process::Launcher> launcher);

}  // namespace agent_graph::service

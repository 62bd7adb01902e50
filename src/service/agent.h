// The agent of a service: its graph and the models the graph asks. The same code builds it in a
// worker and in the validation child, so that `nginx -t` checks what workers will run.
#pragma once

#include <memory>

#include "base/status.h"
#include "graph/compiled_graph.h"
#include "models/registry.h"
#include "settings/settings.h"

namespace agent_graph::service {

struct Agent {
  std::shared_ptr<const graph::CompiledGraph> graph;
  std::unique_ptr<models::Registry> models;
};

// Runs user code (a shared object's builder). Starts no thread. A failure is one line that names
// the file or key and the reason.
Result<Agent> BuildAgent(const settings::Settings& settings, int graph_file);

}  // namespace agent_graph::service

// Options for accepted runs in a worker, from its settings.
#pragma once

#include "bridge/worker_memory.h"
#include "run/host/run_host.h"
#include "settings/settings.h"

namespace agent_graph::service {

// `memory` must outlive the host. The log is not set.
run::RunHostOptions HostOptions(const settings::Settings& settings, bridge::WorkerMemory& memory);

}  // namespace agent_graph::service

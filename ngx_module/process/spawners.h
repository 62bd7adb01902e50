// The processes that start helper programs for the services' workers; see engine/process.
#pragma once

#include "ngx_module/ngx.h"

namespace agent_graph::nginx {

// Forks one spawner per service. Call once per process, while the process has only one thread.
void ForkSpawners(const ngx_cycle_t& cycle);

}  // namespace agent_graph::nginx

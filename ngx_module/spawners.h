// The processes that start programs for the services' workers; see engine/process.
#pragma once

#include "ngx.h"

namespace agent_graph::nginx {

// One for each service. Called once in the process they belong to, while that has one thread.
void ForkSpawners(const ngx_cycle_t& cycle);

}  // namespace agent_graph::nginx

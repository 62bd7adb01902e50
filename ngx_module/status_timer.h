// Keeps this worker's status rows up to date, and measures how late its event loop is.
#pragma once

#include "ngx.h"

namespace agent_graph::nginx {

// In a worker, after its services have started. The timer does not keep a leaving worker.
void StartStatusTimer(ngx_cycle_t* cycle);

}  // namespace agent_graph::nginx

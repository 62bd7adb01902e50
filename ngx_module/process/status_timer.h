// Updates this worker's status rows periodically and measures the delay of its event loop.
#pragma once

#include "ngx_module/ngx.h"

namespace agent_graph::nginx {

// Called in a worker after its services have started. The timer does not delay the worker's exit.
void StartStatusTimer(ngx_cycle_t* cycle);

}  // namespace agent_graph::nginx

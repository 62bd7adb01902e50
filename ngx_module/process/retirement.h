// Replacement of a worker that user functions have worn out.
#pragma once

#include <memory>
#include <vector>

#include "ngx_module/worker/worker_service.h"

namespace agent_graph::nginx {

// Lets this worker leave, as if the master had sent it QUIT, when functions that do not return have
// taken too many of its threads. Call it periodically.
//
// The master starts a successor only when this worker has exited, and that may take as long as its
// requests. So the worker leaves while enough others accept connections; otherwise it goes on until
// it is idle, and then exits at once.
void ConsiderRetirement(const std::vector<std::unique_ptr<WorkerService>>& services);

}  // namespace agent_graph::nginx

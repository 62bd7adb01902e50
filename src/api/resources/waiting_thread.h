// Results of client tools that come without the id of their thread.
#pragma once

#include "api/http/context.h"
#include "run/run_request.h"

namespace agent_graph::api {

// A client whose first request made a new thread may answer its calls by the same config, without a
// thread id: the request then goes on with the one thread of the caller that waits for the results.
// Leaves the request as it is when there is none, or more than one.
void FindThreadOfResults(HandlerContext& context, run::RunRequest& request);

}  // namespace agent_graph::api

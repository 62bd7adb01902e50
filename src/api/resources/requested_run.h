// The run that a request of invoke, stream or runs asks for.
#pragma once

#include <memory>
#include <optional>

#include "api/http/context.h"
#include "api/http/validation.h"
#include "api/resources/accepted_run.h"
#include "api/resources/run_request.h"

namespace agent_graph::api {

struct RequestedRun {
  GraphRequest request;
  RunTerms terms;
};

// Looks up everything outside of the request that it refers to: the thread that waits for its
// results, files, and undecided tool calls. Returns the error to answer with, if there is one.
std::optional<ErrorInfo> ResolveRequest(HandlerContext& context, GraphRequest& request);

// Reads the request and checks it with everything that it refers to, unless it repeats one.
// `problems` are those of the query, which the route reads itself. Returns null if the request is
// refused; it is then answered.
//
// On the heap: a fiber keeps every page of its stack that it has touched, and a run may wait long
// for its model. For the same reason handlers of runs have small stack frames.
std::unique_ptr<RequestedRun> ReadRequestedRun(HandlerContext& context, Problems problems = {});

}  // namespace agent_graph::api

// Reads the JSON body of a request.
#pragma once

#include "api/http/context.h"

namespace agent_graph::api {

// Reads and parses the body as the route requires and stores it in the context; does nothing for
// routes whose handler reads the body itself. Returns the error to answer with, if there is one:
// 422 if the body is not a JSON object, 413 if it is too large. Suspends the calling fiber; a body
// in a file and a large JSON text are handled on the io pool.
std::optional<ErrorInfo> ReadBody(HandlerContext& context, BodyKind kind);

}  // namespace agent_graph::api

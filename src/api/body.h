// Getting a request's JSON off the exchange.
#pragma once

#include "api/context.h"

namespace agent_graph::api {

// Reads and parses the body as the route wants it, unless its handler does so itself, and gives it
// to the context. On failure the error to answer with: 422 for what is not an object of JSON, 413
// above the size limit. A body in a file and a large JSON text are handled on the io pool.
std::optional<ErrorInfo> ReadBody(HandlerContext& context, BodyKind kind);

}  // namespace agent_graph::api

// Errors in the form of AG-UI: the event RUN_ERROR, as the body of a refusal and within a stream.
// Thread-safe; the nginx thread calls these functions, too.
#pragma once

#include <string>
#include <string_view>

#include "api/http/envelope.h"
#include "api/http/errors.h"

namespace agent_graph::agui {

// Returns {"type":"RUN_ERROR","message":…,"code":…}. Fields of the request that have a problem are
// listed in `details`, which clients ignore.
std::string ErrorJson(const api::ErrorInfo& error);

// Renders an error that is answered before the stream begins.
api::Reply RenderError(const api::ErrorInfo& error, std::string_view request_id);

}  // namespace agent_graph::agui

// The Idempotency-Key of a request: a second request with the same key gets the run of the first.
#pragma once

#include <optional>
#include <string>

#include "api/http/context.h"
#include "api/http/validation.h"
#include "state/runs.h"

namespace agent_graph::api {

// Returns the key of the header `Idempotency-Key` or, in a WebSocket frame, of `idempotency_key`,
// with the hash of the body; nullopt: none. A key that cannot be used is added to `problems`.
std::optional<state::RunKey> ReadRunKey(const HandlerContext& context, Problems& problems);

}  // namespace agent_graph::api

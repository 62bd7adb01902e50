// The logs of earlier runs of a thread, as far as they concern tool calls without a result.
#pragma once

#include <string>

#include "base/status.h"
#include "run/context/lost_calls.h"
#include "state/types.h"

namespace agent_graph::state {
class Service;
}

namespace agent_graph::run {

// Returns what the logs say about the calls of the message `message_id`. Reads back to the run that
// has added this message, because runs that ended before their first node may follow it. Suspends
// the calling fiber.
Result<LostCalls> ReadLostCalls(state::Service& state, const state::Scope& scope,
                                const std::string& thread_id, const std::string& message_id);

}  // namespace agent_graph::run

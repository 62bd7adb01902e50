// Long operations check a flag that is set when the session stops.
#pragma once

#include <atomic>

#include "base/status.h"

namespace agent_graph::state {

// Returns kUnavailable once the flag, which may be null, is set.
inline Status CheckStopping(const std::atomic<bool>* stopping) {
  if (stopping == nullptr || !*stopping) return Status::Ok();
  return Status(StatusCode::kUnavailable, "the state server is leaving");
}

}  // namespace agent_graph::state

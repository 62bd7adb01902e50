// What takes long looks at a flag that is set when its owner leaves.
#pragma once

#include <atomic>

#include "base/status.h"

namespace agent_graph::state {

// kUnavailable once the flag, which may be null, is set.
inline Status CheckStopping(const std::atomic<bool>* stopping) {
  if (stopping == nullptr || !*stopping) return Status::Ok();
  return Status(StatusCode::kUnavailable, "the state owner is leaving");
}

}  // namespace agent_graph::state

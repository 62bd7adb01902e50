// Names the owner of the Idempotency-Key of a run.
#pragma once

#include <string>

#include "state/requests.h"
#include "state/types.h"

namespace agent_graph::state {

inline const std::string& KeyOwner(const BeginRunRequest& begin) {
  return begin.scope.kind == Scope::Kind::kOwner ? begin.scope.user_id : begin.user_id;
}

}  // namespace agent_graph::state

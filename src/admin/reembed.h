// Makes the vectors of memories anew, after a change of the embedding.
#pragma once

#include <cstdint>

#include "admin/state_access.h"
#include "base/status.h"
#include "settings/settings.h"

namespace agent_graph::admin {

struct Reembedded {
  uint64_t looked_at = 0;
  uint64_t embedded = 0;
  uint64_t changed = 0;  // that said something else when their vector came, or were gone
  uint64_t failed = 0;   // that the provider refuses
};

// Those whose vectors are not of the space and the length that the settings' embedding gives. While
// the service goes on, or without it; what an interrupted run has done the next need not do again.
Result<Reembedded> Reembed(StateAccess& state, const settings::Settings& settings);

}  // namespace agent_graph::admin

// Recomputes the vectors of memories after a change of the embedding.
#pragma once

#include <cstdint>

#include "admin/state_access.h"
#include "base/status.h"
#include "settings/settings.h"

namespace agent_graph::admin {

// Numbers of memories.
struct Reembedded {
  uint64_t looked_at = 0;
  uint64_t embedded = 0;
  uint64_t changed = 0;  // memories that were changed or deleted before their vector was stored
  uint64_t failed = 0;   // memories whose text the provider refused
};

// Recomputes vectors whose space or length differs from those of the embedding in the settings.
// Works while the service runs, and without it. After an interruption the next run does only the
// remaining work. Blocks.
Result<Reembedded> Reembed(StateAccess& state, const settings::Settings& settings);

}  // namespace agent_graph::admin

// The state owner as settings describe it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "bridge/outbox.h"
#include "settings/settings.h"
#include "state/owner.h"

namespace agent_graph::service {

// A checkpointer or a store is kept in the owner's database.
bool NeedsState(const settings::Settings& settings);

// A worker's stand-in owner yields to whatever the helper process starts.
inline constexpr uint64_t kStandInGeneration = 0;

// Starts a candidate of `generation`; null when nothing needs it. `log` may be null;
// `root_serves` as in state::OwnerOptions.
Result<std::unique_ptr<state::Owner>> StartOwner(const settings::Settings& settings,
                                                 const std::string& state_directory,
                                                 uid_t root_serves, uint64_t generation,
                                                 bridge::Outbox* log);

}  // namespace agent_graph::service

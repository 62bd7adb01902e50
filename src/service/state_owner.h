// Starts the state server with the options that the settings contain.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "bridge/outbox.h"
#include "settings/settings.h"
#include "state/owner.h"

namespace agent_graph::service {

// True if a checkpointer or a store keeps data in the state server's database.
bool NeedsState(const settings::Settings& settings);

// Generation of a worker that serves the state as a fallback: it gives the role up to any candidate
// that the helper process starts.
inline constexpr uint64_t kStandInGeneration = 0;

// Starts a candidate of `generation`. Null if the settings need no state server. `log` may be null;
// `root_serves` as in state::OwnerOptions.
Result<std::unique_ptr<state::Owner>> StartOwner(const settings::Settings& settings,
                                                 const std::string& state_directory,
                                                 uid_t root_serves, uint64_t generation,
                                                 bridge::Outbox* log);

}  // namespace agent_graph::service

// The state with the options that the settings contain.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "bridge/outbox.h"
#include "settings/settings.h"
#include "state/options.h"
#include "state/state_server.h"

namespace agent_graph::service {

// True if a checkpointer or a store keeps data in the state server's database.
bool NeedsState(const settings::Settings& settings);

// `log` may be null.
state::StateOptions MakeStateOptions(const settings::Settings& settings,
                                     const std::string& state_directory, bridge::Outbox* log);

// Generation of a worker that serves the state as a fallback: it gives the role up to any candidate
// that the helper process starts.
inline constexpr uint64_t kFallbackGeneration = 0;

// Starts a candidate of `generation`. Null if the settings need no state server.
Result<std::unique_ptr<state::StateServer>> StartStateServer(const settings::Settings& settings,
                                                             state::StateOptions options,
                                                             uint64_t generation);

}  // namespace agent_graph::service

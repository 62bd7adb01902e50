// The environment services are configured from, over reloads and binary upgrades.
#pragma once

#include "config.h"

namespace agent_graph::nginx {

// What this nginx was started with, taken once: without a master nginx replaces it later.
const settings::Environment& StartEnvironment();

// In the master, when a configuration is taken: a new binary is handed all of this environment, not
// only what `env` lists; it reads the same service.json, MODE and secrets.
bool KeepEnvironment(ngx_cycle_t* cycle);

// In the processes of a configuration, which nginx gave the same: leaves what `env` lists.
void DropEnvironment();

}  // namespace agent_graph::nginx

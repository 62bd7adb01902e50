// The environment from which services are configured, preserved over reloads and binary upgrades.
#pragma once

#include "ngx_module/config.h"

namespace agent_graph::nginx {

// The environment with which this nginx was started. It is captured once, because nginx without a
// master replaces it later.
const settings::Environment& StartEnvironment();

// Called in the master when a configuration takes effect. Makes nginx pass the whole environment to
// a new binary, not only the variables that `env` lists: the new binary reads the same service.json
// and needs the same MODE and secrets.
bool KeepEnvironment(ngx_cycle_t* cycle);

// Called in worker and helper processes, which inherit that environment from nginx. Removes what
// KeepEnvironment added, so that only variables that `env` lists remain.
void DropEnvironment();

}  // namespace agent_graph::nginx

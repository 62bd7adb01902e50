// The checks of `nginx -t`.
#pragma once

#include "base/status.h"
#include "settings/settings.h"

namespace agent_graph::service {

// Ok if the settings are complete, the graph loads and compiles, its models exist, and every route
// is guarded. Call it in a process without threads.
Status Validate(const settings::Settings& settings);

}  // namespace agent_graph::service

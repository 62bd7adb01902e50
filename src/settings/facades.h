// The key `facades`: protocols of other clients under which the agent can be reached.
#pragma once

#include "settings/settings.h"
#include "settings/value.h"

namespace agent_graph::settings {

Status ReadFacades(const Value& value, Settings& settings);

// Sets which façades are on if service.json does not name them: all in development, none in
// production. Call it before the document is read.
void ApplyModeToFacades(Settings& settings);

}  // namespace agent_graph::settings

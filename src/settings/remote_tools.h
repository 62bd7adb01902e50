// The key `remote_tools` of service.json.
#pragma once

#include "settings/settings.h"
#include "settings/value.h"

namespace agent_graph::settings {

// Does not check that the graph has the named nodes: that happens when the graph is loaded.
Status ReadRemoteTools(const Value& value, Settings& settings);

}  // namespace agent_graph::settings

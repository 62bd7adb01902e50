// The key `remote_tools` of service.json.
#pragma once

#include "settings/settings.h"
#include "settings/value.h"

namespace agent_graph::settings {

// Whether the graph has the nodes that are named is found out with the graph.
Status ReadRemoteTools(const Value& value, Settings& settings);

}  // namespace agent_graph::settings

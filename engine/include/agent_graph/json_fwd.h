// Declares agent_graph::json; agent_graph/json.h defines it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "agent_graph/ordered_map.h"

namespace agent_graph {

// nlohmann's JSON value with objects that keep the order of their members.
using json = nlohmann::basic_json<OrderedMap>;

}  // namespace agent_graph

// Live agents of a declarative graph.
#pragma once

#include "agent_graph/live_agent.h"
#include "graph/object_reader.h"

namespace agent_graph::graph {

// Reads the keys of a node of type live_agent. Mistakes are reported to `reader`.
LiveAgent ReadLiveAgent(ObjectReader& reader);

}  // namespace agent_graph::graph

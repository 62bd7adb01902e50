// Builds the configuration that a link to the provider gets for an agent: the agent's compiled
// values, overridden by the client's init frame.
#pragma once

#include <string>
#include <vector>

#include "graph/compiled_graph.h"
#include "live/init_frame.h"
#include "realtime/link.h"
#include "run/nodes/node_tools.h"

namespace agent_graph::live {

// Returns the tools of `offered` that the agent may use: those with one of the tags that the
// client, or else the agent, asks for.
run::OfferedTools FilterTools(const run::OfferedTools& offered, const LiveAgent& agent,
                              const InitFrame& init);

// `agent` is a live agent of `graph`. The client's system prompt applies to the root agent only,
// its model and voice to all agents with the same entry of `models` as the root, and its other
// values to every agent.
realtime::LinkConfig ComposeConfig(const graph::CompiledGraph& graph, const std::string& agent,
                                   const InitFrame& init, const run::OfferedTools& tools);

}  // namespace agent_graph::live

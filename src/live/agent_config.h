// What a link is told about the agent that speaks: its compiled values under the client's wishes.
#pragma once

#include <string>
#include <vector>

#include "graph/compiled_graph.h"
#include "live/init_frame.h"
#include "realtime/link.h"
#include "run/node_tools.h"

namespace agent_graph::live {

// Of `offered` those the agent may use: with one of its tags, or the client's.
run::OfferedTools FilterTools(const run::OfferedTools& offered, const LiveAgent& agent,
                              const InitFrame& init);

// `agent` is a live agent of `graph`. The client's system prompt is for the root, its model and
// voice for agents with the root's entry of models; the rest of its wishes is for every agent.
realtime::LinkConfig ComposeConfig(const graph::CompiledGraph& graph, const std::string& agent,
                                   const InitFrame& init, const run::OfferedTools& tools);

}  // namespace agent_graph::live

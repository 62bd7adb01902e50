// Checks the live agents of a graph.
#pragma once

#include <string>
#include <vector>

#include "agent_graph/live_agent.h"
#include "graph/definition.h"

namespace agent_graph::graph {

// Requires valid nodes and edges. Reports a problem unless the live agents have exactly one root,
// START leads to it, and no other node is on the path.
void CheckLiveAgents(const GraphDefinition& definition, std::vector<std::string>& problems);

// Empty if the settings are valid.
std::vector<std::string> VoiceActivityProblems(const VoiceActivity& vad);

}  // namespace agent_graph::graph

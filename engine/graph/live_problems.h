// What can be wrong with the live agents of a graph.
#pragma once

#include <string>
#include <vector>

#include "agent_graph/live_agent.h"
#include "graph/definition.h"

namespace agent_graph::graph {

// Of a graph whose nodes and edges are sound by themselves: its live agents have exactly one root,
// START leads there, and nothing else is on the path.
void CheckLiveAgents(const GraphDefinition& definition, std::vector<std::string>& problems);

// Empty when the settings are usable.
std::vector<std::string> VoiceActivityProblems(const VoiceActivity& vad);

}  // namespace agent_graph::graph

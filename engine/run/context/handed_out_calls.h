// The remote tool calls that a thread has handed to its client, answered or not.
#pragma once

#include <string>
#include <unordered_set>

#include "agent_graph/state.h"

namespace agent_graph::run {

// Returns the ids of those made since the newest assistant message.
std::unordered_set<std::string> HandedOutCalls(const State& state);

}  // namespace agent_graph::run

// JSON Schema of AgentState, served by GET /v1/graph:StateSchema.
#pragma once

#include <string>
#include <vector>

#include "agent_graph/graph.h"

namespace agent_graph::graph {

std::string StateSchemaJson(const std::vector<StateField>& fields);

}  // namespace agent_graph::graph

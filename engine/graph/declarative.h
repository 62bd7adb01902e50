// The declarative form of graphs: a JSON document with one graph per top-level key.
#pragma once

#include <string>
#include <string_view>

#include "agent_graph/graph.h"
#include "base/status.h"

namespace agent_graph::graph {

// Builds the graph under the key `attribute`. Failures are kGraph and begin with the path of the
// mistake, e.g. `app.nodes.0.tool_node: there is no node "TOOLS"`.
Status ReadDocument(std::string_view text, const std::string& attribute, GraphBuilder& builder);

}  // namespace agent_graph::graph

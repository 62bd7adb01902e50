#include "run/nodes/node_runner.h"

#include <variant>

// One line per kind of node.
#include "run/nodes/agent_node.h"
#include "run/nodes/function_node.h"
#include "run/nodes/live_node.h"
#include "run/nodes/subgraph_node.h"
#include "run/nodes/tool_node.h"

namespace agent_graph::run {

const NodeRunner& RunnerOf(const graph::Node& node) {
  return std::visit([](const auto& kind) -> const NodeRunner& { return RunnerFor(kind); },
                    node.kind);
}

}  // namespace agent_graph::run

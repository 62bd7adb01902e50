#include "run/nodes/subgraph_node.h"

namespace agent_graph::run {
namespace {

class SubgraphNodeRunner final : public NodeRunner {
 public:
  Result<NodeResult> Run(const NodeRun& run) const override {
    return Status(StatusCode::kInternal, "the subgraph \"" + run.node.name + "\" is not flattened");
  }
};

}  // namespace

const NodeRunner& RunnerFor(const graph::Subgraph&) {
  static const SubgraphNodeRunner runner;
  return runner;
}

}  // namespace agent_graph::run

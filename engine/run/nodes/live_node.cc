#include "run/nodes/live_node.h"

namespace agent_graph::run {
namespace {

class LiveNodeRunner final : public NodeRunner {
 public:
  Result<NodeResult> Run(const NodeRun&) const override {
    return Status(StatusCode::kGraph, "the graph is live: use /v1/graph/live");
  }
};

}  // namespace

const NodeRunner& RunnerFor(const LiveAgent&) {
  static const LiveNodeRunner runner;
  return runner;
}

}  // namespace agent_graph::run

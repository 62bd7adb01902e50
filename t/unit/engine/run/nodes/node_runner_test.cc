#include "run/nodes/node_runner.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace agent_graph::run {
namespace {

graph::Node NodeOfKind(graph::NodeKind kind) {
  return graph::Node{.name = "A", .kind = std::move(kind)};
}

TEST(NodeRunnerTest, EachKindHasARunnerOfItsOwn) {
  std::set<const NodeRunner*> runners;
  for (const graph::Node& node :
       {NodeOfKind(graph::FunctionNode()), NodeOfKind(Agent()), NodeOfKind(graph::ToolNode()),
        NodeOfKind(LiveAgent()), NodeOfKind(graph::Subgraph())}) {
    runners.insert(&RunnerOf(node));
  }
  EXPECT_EQ(runners.size(), std::variant_size_v<graph::NodeKind>);
}

TEST(NodeRunnerTest, OnlyFunctionsThatNeverBlockAreInstant) {
  for (const auto& [execution, instant] :
       {std::pair(Execution::kNonBlocking, true), std::pair(Execution::kBlocking, false)}) {
    const graph::Node node =
        NodeOfKind(graph::FunctionNode{.function = {}, .execution = execution});
    EXPECT_EQ(RunnerOf(node).IsInstant(node), instant);
  }
  const graph::Node agent = NodeOfKind(Agent());
  EXPECT_FALSE(RunnerOf(agent).IsInstant(agent));
}

}  // namespace
}  // namespace agent_graph::run

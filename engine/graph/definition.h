// The data that a GraphBuilder collects and a compiled graph consists of.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent_graph/agent.h"
#include "agent_graph/graph.h"
#include "agent_graph/live_agent.h"
#include "agent_graph/node.h"
#include "agent_graph/tool.h"
#include "agent_graph/tool_sources.h"
#include "tools/schema/json_schema.h"

namespace agent_graph::graph {

struct FunctionNode {
  NodeFunction function;
  Execution execution = Execution::kBlocking;
  std::chrono::milliseconds timeout = kFunctionTimeoutDefault;
};

struct ToolNode {
  std::vector<Tool> tools = {};
  std::vector<HttpTool> http_tools = {};
  std::vector<McpServer> mcp_servers = {};
  std::vector<RemoteTool> remote_tools = {};
  std::vector<tools::JsonSchemaPtr> schemas = {};  // parallel to `tools`; empty until compiled

  const Tool* Find(std::string_view name) const;
};

struct GraphDefinition;

// A graph as a node of another. It is flattened when the outer graph is compiled; see flatten.h.
struct Subgraph {
  std::shared_ptr<const GraphDefinition> definition;
};

using NodeKind = std::variant<FunctionNode, Agent, ToolNode, LiveAgent, Subgraph>;

struct Node {
  std::string name;
  NodeKind kind;
  RetryPolicy retry = {};
  std::chrono::milliseconds timeout{0};  // 0: the run's; function nodes have their own
  bool once = false;                     // no other worker executes it again
};

// An edge that leaves `from`: to the only target or, if conditional, to the target that the
// predicate returns.
struct OutgoingEdge {
  std::string from;
  Predicate predicate;
  std::vector<std::string> targets;
  bool conditional = false;
  std::vector<std::string> labels = {};  // the predicate's names of `targets`; empty: the same
};

struct GraphDefinition {
  std::string name;
  std::vector<Node> nodes;
  std::vector<OutgoingEdge> edges;
  std::vector<OutgoingEdge> go_to;  // declared jumps, without a predicate
  std::vector<StateField> fields;
  std::optional<ContextPolicy> context;
  std::vector<std::string> interrupt_before;
  std::vector<std::string> interrupt_after;
  std::vector<std::string> mistakes;  // builder calls that could not be carried out
};

// The built-in fields of the state: custom fields must not have these names.
inline constexpr std::string_view kBuiltInFields[] = {"context", "context_summary",
                                                      "execution_meta"};
bool IsBuiltInField(std::string_view name);

}  // namespace agent_graph::graph

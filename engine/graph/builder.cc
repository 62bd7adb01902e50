#include "agent_graph/graph.h"
#include "graph/definition.h"
#include "graph/problems.h"

namespace agent_graph {

using graph::FunctionNode;
using graph::GraphDefinition;
using graph::ToolNode;

namespace {

// Returns null and records a mistake if there is no such tool node yet.
ToolNode* FindToolNode(GraphDefinition& definition, const std::string& name,
                       const std::string& what) {
  for (graph::Node& node : definition.nodes) {
    if (node.name != name) continue;
    if (auto* tools = std::get_if<ToolNode>(&node.kind)) return tools;
  }
  definition.mistakes.push_back(what + ": there is no tool node \"" + name + "\" yet");
  return nullptr;
}

graph::Node* FindNode(GraphDefinition& definition, const std::string& name,
                      const std::string& what) {
  for (graph::Node& node : definition.nodes) {
    if (node.name == name) return &node;
  }
  definition.mistakes.push_back(what + ": there is no node \"" + name + "\" yet");
  return nullptr;
}

}  // namespace

GraphBuilder::GraphBuilder() : definition_(std::make_unique<GraphDefinition>()) {}
GraphBuilder::~GraphBuilder() = default;

GraphBuilder& GraphBuilder::SetName(std::string name) {
  definition_->name = std::move(name);
  return *this;
}

GraphBuilder& GraphBuilder::AddFunction(std::string name, NodeFunction function,
                                        Execution execution, std::chrono::milliseconds timeout) {
  definition_->nodes.push_back(
      {std::move(name), FunctionNode{std::move(function), execution, timeout}});
  return *this;
}

GraphBuilder& GraphBuilder::AddAgent(std::string name, Agent agent) {
  definition_->nodes.push_back({std::move(name), std::move(agent)});
  return *this;
}

GraphBuilder& GraphBuilder::AddLiveAgent(std::string name, LiveAgent agent) {
  definition_->nodes.push_back({std::move(name), std::move(agent)});
  return *this;
}

GraphBuilder& GraphBuilder::AddToolNode(std::string name, std::vector<Tool> tools) {
  definition_->nodes.push_back({std::move(name), ToolNode{.tools = std::move(tools)}});
  return *this;
}

GraphBuilder& GraphBuilder::AddHttpTool(const std::string& tool_node, HttpTool tool) {
  if (ToolNode* node = FindToolNode(*definition_, tool_node, "HTTP tool \"" + tool.name + '"')) {
    node->http_tools.push_back(std::move(tool));
  }
  return *this;
}

GraphBuilder& GraphBuilder::AddMcpServer(const std::string& tool_node, McpServer server) {
  if (ToolNode* node = FindToolNode(*definition_, tool_node, "MCP server \"" + server.name + '"')) {
    node->mcp_servers.push_back(std::move(server));
  }
  return *this;
}

GraphBuilder& GraphBuilder::AddRemoteTool(const std::string& tool_node, RemoteTool tool) {
  if (ToolNode* node = FindToolNode(*definition_, tool_node, "remote tool \"" + tool.name + '"')) {
    node->remote_tools.push_back(std::move(tool));
  }
  return *this;
}

GraphBuilder& GraphBuilder::AddEdge(std::string from, std::string to) {
  definition_->edges.push_back({std::move(from), nullptr, {std::move(to)}});
  return *this;
}

GraphBuilder& GraphBuilder::AddConditionalEdge(std::string from, Predicate predicate,
                                               std::vector<std::string> targets) {
  definition_->edges.push_back({std::move(from), std::move(predicate), std::move(targets), true});
  return *this;
}

GraphBuilder& GraphBuilder::AddGoTo(std::string from, std::vector<std::string> targets) {
  definition_->go_to.push_back({std::move(from), nullptr, std::move(targets)});
  return *this;
}

GraphBuilder& GraphBuilder::AddField(StateField field) {
  definition_->fields.push_back(std::move(field));
  return *this;
}

GraphBuilder& GraphBuilder::AddSubgraph(std::string name, const GraphBuilder& graph) {
  definition_->nodes.push_back(
      {std::move(name),
       graph::Subgraph{std::make_shared<const GraphDefinition>(graph.definition())}});
  return *this;
}

GraphBuilder& GraphBuilder::SetRetry(const std::string& node, RetryPolicy retry) {
  if (graph::Node* found = FindNode(*definition_, node, "the retry policy")) found->retry = retry;
  return *this;
}

GraphBuilder& GraphBuilder::SetOnce(const std::string& node) {
  if (graph::Node* found = FindNode(*definition_, node, "the mark once")) found->once = true;
  return *this;
}

GraphBuilder& GraphBuilder::SetTimeout(const std::string& node, std::chrono::milliseconds timeout) {
  graph::Node* found = FindNode(*definition_, node, "the timeout");
  if (found == nullptr) return *this;
  found->timeout = timeout;
  if (auto* function = std::get_if<FunctionNode>(&found->kind)) function->timeout = timeout;
  return *this;
}

GraphBuilder& GraphBuilder::SetContext(ContextPolicy policy) {
  definition_->context = std::move(policy);
  return *this;
}

GraphBuilder& GraphBuilder::InterruptBefore(std::vector<std::string> nodes) {
  auto& list = definition_->interrupt_before;
  list.insert(list.end(), nodes.begin(), nodes.end());
  return *this;
}

GraphBuilder& GraphBuilder::InterruptAfter(std::vector<std::string> nodes) {
  auto& list = definition_->interrupt_after;
  list.insert(list.end(), nodes.begin(), nodes.end());
  return *this;
}

std::vector<std::string> GraphBuilder::Problems() const {
  return graph::FindProblems(*definition_);
}

Predicate ToolCallsPending(std::string tool_node, std::string otherwise) {
  return [tool_node = std::move(tool_node), otherwise = std::move(otherwise)](const State& state) {
    return state.PendingToolCalls().empty() ? otherwise : tool_node;
  };
}

}  // namespace agent_graph

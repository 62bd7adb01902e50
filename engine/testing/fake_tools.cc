#include "testing/fake_tools.h"

#include <functional>
#include <memory>
#include <utility>
#include <variant>

namespace agent_graph::graph_test {
namespace {

using NodeVisitor = std::function<void(const std::string& path, graph::ToolNode& node)>;

// Calls `visit` for each tool node, also of subgraphs, whose definitions are copied for that.
void ForEachToolNode(graph::GraphDefinition& definition, const std::string& scope,
                     const NodeVisitor& visit) {
  for (graph::Node& node : definition.nodes) {
    if (auto* tools = std::get_if<graph::ToolNode>(&node.kind)) visit(scope + node.name, *tools);
    if (auto* subgraph = std::get_if<graph::Subgraph>(&node.kind)) {
      auto copy = std::make_shared<graph::GraphDefinition>(*subgraph->definition);
      ForEachToolNode(*copy, scope + node.name + "/", visit);
      subgraph->definition = std::move(copy);
    }
  }
}

Tool LocalToolOf(const HttpTool& tool) {
  return {.name = tool.name,
          .description = tool.description,
          .parameters_json = tool.parameters_json,
          .function = [name = tool.name](const json&, ToolContext&) -> ToolOutput {
            return ToolOutput::Error("the test has no fake for the HTTP tool " + name);
          },
          .idempotent = tool.idempotent,
          .tags = tool.tags};
}

}  // namespace

std::vector<std::string> RemoveToolSources(graph::GraphDefinition& definition) {
  std::vector<std::string> with_servers;
  ForEachToolNode(definition, "", [&](const std::string& path, graph::ToolNode& node) {
    for (const HttpTool& tool : node.http_tools) node.tools.push_back(LocalToolOf(tool));
    node.http_tools.clear();
    if (!node.mcp_servers.empty()) with_servers.push_back(path);
    node.mcp_servers.clear();
  });
  return with_servers;
}

size_t ReplaceTool(graph::GraphDefinition& definition, const std::string& name,
                   const ToolFunction& function) {
  size_t replaced = 0;
  ForEachToolNode(definition, "", [&](const std::string&, graph::ToolNode& node) {
    for (Tool& tool : node.tools) {
      if (tool.name != name) continue;
      tool.function = function;
      ++replaced;
    }
  });
  return replaced;
}

void AddTool(graph::GraphDefinition& definition, const std::string& node, const Tool& tool) {
  ForEachToolNode(definition, "", [&](const std::string& path, graph::ToolNode& tools) {
    if (path == node) tools.tools.push_back(tool);
  });
}

void ToolCallRecord::Add(const std::string& tool, const json& arguments) {
  const MutexLock lock(mutex_);
  calls_[tool].push_back(arguments);
}

std::vector<json> ToolCallRecord::Of(const std::string& tool) const {
  const MutexLock lock(mutex_);
  const auto found = calls_.find(tool);
  return found != calls_.end() ? found->second : std::vector<json>();
}

}  // namespace agent_graph::graph_test

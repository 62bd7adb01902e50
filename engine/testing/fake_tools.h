// Replaces the tools of a graph before it is compiled.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent_graph/json.h"
#include "agent_graph/testing.h"
#include "base/mutex.h"
#include "graph/definition.h"

namespace agent_graph::graph_test {

// Makes local tools of all HTTP tools, which fail when they are called, and removes MCP servers.
// Returns the paths of the tool nodes that had one.
std::vector<std::string> RemoveToolSources(graph::GraphDefinition& definition);

// Gives the tools of this name another function; returns how many there are.
size_t ReplaceTool(graph::GraphDefinition& definition, const std::string& name,
                   const ToolFunction& function);

// Adds a tool to the node.
void AddTool(graph::GraphDefinition& definition, const std::string& node, const Tool& tool);

// The arguments of calls, by the tool's name. Thread-safe: tools are called on several threads.
class ToolCallRecord {
 public:
  void Add(const std::string& tool, const json& arguments);
  std::vector<json> Of(const std::string& tool) const;

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::vector<json>> calls_ AG_GUARDED_BY(mutex_);
};

}  // namespace agent_graph::graph_test

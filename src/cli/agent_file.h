// The file that a user names: service.json, or a graph.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace agent_graph::cli {

struct AgentFile {
  std::string path;
  bool is_service = false;
  std::vector<std::string> attributes = {};  // for a graph: the names to look at; not empty
};

// `name` is a path with an optional ":NAME" of a graph. A folder stands for its service.json. A
// JSON document with the key `agent` that is a string is a service.json.
Result<AgentFile> ReadAgentFile(const std::string& name);

}  // namespace agent_graph::cli

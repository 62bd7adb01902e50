// Agent: a node that calls a model, with a prompt and optionally with tools.
#pragma once

#include <string>
#include <vector>

#include "agent_graph/export.h"

namespace agent_graph {

struct Agent {
  // A key of `models` in service.json: the graph names a role, the operator chooses the provider.
  std::string model = "default";
  std::string system_prompt = {};
  // Name of the tool node whose tools are offered to the model; empty: no tools. The tool node runs
  // the calls, so add an edge to it with ToolCallsPending (graph.h).
  std::string tool_node = {};
  std::vector<std::string> tools_tags = {};  // only tools with one of these tags; empty: all
  std::string parameters_json = "{}";        // temperature, max_tokens, ...: passed to the provider
  bool stream = true;                        // true: text is streamed to the client as it arrives
  // The state field that receives the reply's text instead of the conversation: for agents that
  // decide or classify. The reply is then neither streamed nor stored as a message. Cannot be
  // combined with tools. Empty: the reply becomes a message.
  std::string output_field = {};
};

}  // namespace agent_graph

// Agent: a node that asks a model, with a prompt and optionally with tools.
#pragma once

#include <string>
#include <vector>

#include "agent_graph/export.h"

namespace agent_graph {

struct Agent {
  // A key of `models` in service.json: the graph names a role, the operator picks the provider.
  std::string model = "default";
  std::string system_prompt = {};
  // Name of the tool node whose tools the model is told about; empty: no tools. Calling them is
  // the tool node's work, so lead there with ToolCallsPending (graph.h).
  std::string tool_node = {};
  std::vector<std::string> tools_tags = {};  // only tools with one of these tags; empty: all
  std::string parameters_json = "{}";        // temperature, max_tokens, ...: passed to the provider
  bool stream = true;                        // pieces are shown to the client as they arrive
  // The state field that gets the reply's text instead of the conversation: for agents that decide
  // or classify. Nothing of it is shown as a message. Not together with tools.
  std::string output_field = {};
};

}  // namespace agent_graph

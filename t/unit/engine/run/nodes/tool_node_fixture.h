// Runs an agent whose model asks for tool calls.
#pragma once

#include "../run_fixture.h"
#include "run/nodes/tool_node.h"
#include "state/requests.h"

namespace agent_graph::run {

class ToolNodeTest : public RunTest {
 protected:
  static Tool MakeTool(std::string name, ToolFunction function) {
    Tool tool;
    tool.name = std::move(name);
    tool.function = std::move(function);
    tool.idempotent = true;
    return tool;
  }
  static ToolCallBlock Call(std::string id, std::string name, std::string arguments = "{}") {
    return {std::move(id), std::move(name), std::move(arguments), false};
  }

  static std::string CallId(int number) {
    std::string id = std::to_string(number);
    id.insert(id.begin(), 'c');
    return id;
  }

  // Runs a model reply with `calls` and then a final reply; returns the tool results in between.
  std::vector<json> Results(std::vector<Tool> tools, std::vector<ToolCallBlock> calls) {
    AddAgentWithTools(std::move(tools));
    model_.script = {{.pieces = {}, .calls = std::move(calls), .failure = {}},
                     {.pieces = {"Done."}, .calls = {}, .failure = {}}};
    outcome_ = RunOk(Ask("hi"));
    std::vector<json> results;
    for (const json& message : json::parse(outcome_.messages_json)) {
      if (message.at("role") == "tool") results.push_back(message.at("content").at(0));
    }
    return results;
  }
  RunOutcome outcome_;
};

}  // namespace agent_graph::run

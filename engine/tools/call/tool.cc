#include "agent_graph/tool.h"

#include "agent_graph/json.h"
#include "base/json.h"

namespace agent_graph {

MemoryAccess::~MemoryAccess() = default;
MemoryError::~MemoryError() = default;
ToolContext::~ToolContext() = default;
MemoryAccess& ToolContext::memories() {
  throw MemoryError("there is no memory store");
}

ToolOutput::ToolOutput(const agent_graph::json& value) : json(DumpJson(value)) {}

ToolOutput::ToolOutput(const std::string& text) {
  json.clear();
  AppendJsonString(json, text);
}

ToolOutput::ToolOutput(const char* text) : ToolOutput(std::string(text)) {}

ToolOutput ToolOutput::Error(const std::string& text) {
  ToolOutput output(text);
  output.is_error = true;
  return output;
}

ToolOutput ToolOutput::FromJsonText(std::string json_text) {
  ToolOutput output;
  output.json = std::move(json_text);
  return output;
}

}  // namespace agent_graph

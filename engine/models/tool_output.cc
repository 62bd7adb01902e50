#include "models/tool_output.h"

#include "agent_graph/json.h"
#include "base/json.h"

namespace agent_graph::models {

std::string ToolValueText(const ToolResultBlock& result) {
  if (result.output_json.starts_with('"')) {
    const Result<json> parsed = ParseJson(result.output_json);
    if (parsed.ok() && parsed->is_string()) return parsed->get<std::string>();
  }
  return result.output_json;
}

std::string ToolOutputText(const ToolResultBlock& result) {
  return (result.is_error ? "Error: " : "") + ToolValueText(result);
}

}  // namespace agent_graph::models

#include "models/tool_output.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace agent_graph::models {

std::string ToolOutputText(const ToolResultBlock& result) {
  std::string text = result.is_error ? "Error: " : "";
  if (result.output_json.starts_with('"')) {
    const Result<nlohmann::json> parsed = ParseJson(result.output_json);
    if (parsed.ok() && parsed->is_string()) return text + parsed->get_ref<const std::string&>();
  }
  return text + result.output_json;
}

}  // namespace agent_graph::models

#include "models/tool_json.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace agent_graph::models {

Result<nlohmann::json> ToolSchema(const ToolDeclaration& tool) {
  Result<nlohmann::json> schema = ParseJson(tool.parameters_json);
  if (schema.ok()) return schema;
  return Status(StatusCode::kModel,
                "the parameters of tool \"" + tool.name + "\" are " + schema.status().message());
}

Result<nlohmann::json> CallArguments(const ToolCallBlock& call) {
  Result<nlohmann::json> arguments = ParseJson(call.arguments_json);
  if (arguments.ok() && arguments->is_object()) return arguments;
  return Status(StatusCode::kModel,
                "the arguments of the call \"" + call.id + "\" are not a JSON object");
}

}  // namespace agent_graph::models

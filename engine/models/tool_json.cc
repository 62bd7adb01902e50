#include "models/tool_json.h"

#include "agent_graph/json.h"
#include "base/json.h"

namespace agent_graph::models {

Result<json> ToolSchema(const ToolDeclaration& tool) {
  Result<json> schema = ParseJson(tool.parameters_json);
  if (schema.ok()) return schema;
  return Status(StatusCode::kModel,
                "the parameters of tool \"" + tool.name + "\" are " + schema.status().message());
}

Result<json> CallArguments(const ToolCallBlock& call) {
  Result<json> arguments = ParseJson(call.arguments_json);
  if (arguments.ok() && arguments->is_object()) return arguments;
  return Status(StatusCode::kModel,
                "the arguments of the call \"" + call.id + "\" are not a JSON object");
}

}  // namespace agent_graph::models

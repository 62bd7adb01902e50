#include "tools/schema/json_schema.h"

#include <algorithm>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "tools/schema/schema_checker.h"
#include "tools/schema/schema_reader.h"

namespace agent_graph::tools {

JsonSchema::JsonSchema() = default;
JsonSchema::~JsonSchema() = default;

Result<JsonSchemaPtr> JsonSchema::Compile(std::string_view text) {
  AG_ASSIGN_OR_RETURN(json root, ParseJson(text));
  std::shared_ptr<JsonSchema> schema(new JsonSchema);
  schema->root_ = std::make_unique<const json>(std::move(root));
  AG_RETURN_IF_ERROR(SchemaReader(*schema).Read());
  return JsonSchemaPtr(std::move(schema));
}

Result<JsonSchemaPtr> JsonSchema::CompileParameters(std::string_view text) {
  AG_ASSIGN_OR_RETURN(JsonSchemaPtr schema, Compile(text));
  AG_RETURN_IF_ERROR(CheckTakesObjects(*schema->root_));
  return schema;
}

std::vector<std::string> JsonSchema::Check(const json& value) const {
  return SchemaChecker(*this).Run(value);
}

Status CheckTakesObjects(const json& schema) {
  const auto type = schema.is_object() ? schema.find("type") : schema.end();
  if (!schema.is_object() || type == schema.end() || *type == "object") return Status::Ok();
  if (type->is_array() && std::find(type->begin(), type->end(), "object") != type->end()) {
    return Status::Ok();
  }
  return Status(StatusCode::kInvalidArgument,
                "type: must be or include \"object\": the arguments of a tool are an object");
}

}  // namespace agent_graph::tools

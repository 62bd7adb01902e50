#include "tools/schema/json_schema.h"

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

std::vector<std::string> JsonSchema::Check(const json& value) const {
  return SchemaChecker(*this).Run(value);
}

}  // namespace agent_graph::tools

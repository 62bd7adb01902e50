#include "facades/mcp/input_schema.h"

#include <vector>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/own_json.h"
#include "tools/mcp/protocol/header_marks.h"

namespace agent_graph::mcp {
namespace {

// The mark of an MCP server of the graph is for its own clients, such as this service. A client
// that sees it sends a header as well, and this service would have to compare it with the argument:
// the call is executed with the argument, while something in between may decide by the header.
void RemoveHeaderMarks(json& root) {
  std::vector<json*> schemas = {&root};
  while (!schemas.empty()) {
    json& schema = *schemas.back();
    schemas.pop_back();
    if (schema.is_array()) {
      for (json& element : schema) schemas.push_back(&element);
    }
    if (!schema.is_object()) continue;
    schema.erase(tools::mcp::kHeaderMark);
    for (auto& [keyword, value] : schema.items()) {
      if (tools::mcp::HasPlainValue(keyword)) continue;
      if (!tools::mcp::HasNamedSchemas(keyword) || !value.is_object()) {
        schemas.push_back(&value);
        continue;
      }
      for (auto& [name, named] : value.items()) schemas.push_back(&named);
    }
  }
}

}  // namespace

// The protocol demands the type "object", and objects as the schemas of properties. Clients refuse
// the whole list if one tool differs, while other JSON Schemas of objects are usual elsewhere.
std::string InputSchemaOf(const std::string& parameters_json) {
  const Result<json> parsed = ParseJson(parameters_json, kOwnJsonLimits);
  json schema = {{"type", "object"}};
  if (!parsed.ok() || !parsed->is_object()) return DumpJson(schema);
  for (const auto& [name, value] : parsed->items()) {
    if (name != "type") schema[name] = value;
  }
  RemoveHeaderMarks(schema);
  const auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object()) return DumpJson(schema);
  for (auto& [name, property] : properties->items()) {
    if (property == true) property = json::object();
    if (property == false) property = {{"not", json::object()}};
  }
  return DumpJson(schema);
}

}  // namespace agent_graph::mcp

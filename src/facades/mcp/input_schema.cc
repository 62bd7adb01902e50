#include "facades/mcp/input_schema.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/own_json.h"

namespace agent_graph::mcp {
namespace {

constexpr char kHeaderMark[] = "x-mcp-header";

template <size_t N>
bool IsOneOf(const std::array<std::string_view, N>& list, const std::string& keyword) {
  return std::ranges::find(list, keyword) != list.end();
}

// The mark of an MCP server of the graph is for its own clients, such as this service. A client
// that sees it sends a header as well, and this service would have to compare it with the argument:
// the call is executed with the argument, while something in between may decide by the header.
void RemoveHeaderMarks(json& root) {
  static constexpr std::array<std::string_view, 4> kValues = {"enum", "const", "default",
                                                              "examples"};
  static constexpr std::array<std::string_view, 5> kNamedSchemas = {
      "properties", "patternProperties", "$defs", "definitions", "dependentSchemas"};
  std::vector<json*> schemas = {&root};
  while (!schemas.empty()) {
    json& schema = *schemas.back();
    schemas.pop_back();
    if (schema.is_array()) {
      for (json& element : schema) schemas.push_back(&element);
    }
    if (!schema.is_object()) continue;
    schema.erase(kHeaderMark);
    for (auto& [keyword, value] : schema.items()) {
      if (IsOneOf(kValues, keyword)) continue;
      const bool has_names = IsOneOf(kNamedSchemas, keyword) && value.is_object();
      if (!has_names) {
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

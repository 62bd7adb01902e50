// Checks that a schema is one, and collects its patterns and references.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_set>

#include "tools/schema/json_schema.h"
#include "tools/schema/keywords.h"

namespace agent_graph::tools {

inline constexpr std::string_view kTypeNames[] = {"array",  "boolean", "integer", "null",
                                                  "number", "object",  "string"};

class SchemaReader {
 public:
  explicit SchemaReader(JsonSchema& schema) : schema_(schema) {}

  Status Read() { return ReadSchema(*schema_.root_, ""); }

 private:
  Status ReadSchema(const nlohmann::json& schema, const std::string& path);
  Status ReadKeyword(KeywordForm form, const nlohmann::json& value, const std::string& path);
  Status ReadScalar(KeywordForm form, const nlohmann::json& value, const std::string& path);
  Status ReadSchemaList(const nlohmann::json& list, const std::string& path);
  Status ReadSchemaMap(KeywordForm form, const nlohmann::json& map, const std::string& path);
  Status ReadReference(const nlohmann::json& value, const std::string& path);
  void AddPattern(const std::string& text);

  JsonSchema& schema_;
  std::unordered_set<const nlohmann::json*> read_;
};

}  // namespace agent_graph::tools

// JSON Schema for the arguments of tools: draft 4 to 2020-12, without everything that needs other
// documents ($ref beyond the schema itself, $dynamicRef, unevaluated…). Unknown keywords are not
// checked; `format` is an annotation.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "base/status.h"
#include "tools/schema/pattern.h"

namespace agent_graph::tools {

inline constexpr size_t kSchemaProblemsMax = 8;  // reported per value

class JsonSchema;
using JsonSchemaPtr = std::shared_ptr<const JsonSchema>;

// Immutable and thread-safe.
class JsonSchema {
 public:
  // Compiles a schema. Returns kInvalidArgument with the place: "properties.city.type: must be …".
  static Result<JsonSchemaPtr> Compile(std::string_view text);
  // Compiles the schema of a tool's arguments; see CheckTakesObjects.
  static Result<JsonSchemaPtr> CompileParameters(std::string_view text);
  ~JsonSchema();

  // Returns the problems of `value`, each as "city: must be a string"; empty if it is valid. Takes
  // a bounded time: a value that cannot be checked within it counts as invalid.
  std::vector<std::string> Check(const json& value) const;

 private:
  friend class SchemaReader;
  friend class SchemaChecker;
  JsonSchema();

  std::unique_ptr<const json> root_;
  std::unordered_map<std::string, const json*> references_;  // "#/…" → into root_
  std::unordered_map<std::string, std::unique_ptr<const Pattern>> patterns_;
};

// Returns kInvalidArgument if the `type` of `schema` excludes objects. The arguments of a tool are
// an object: no call could be valid, and model providers reject every request that has such a tool.
Status CheckTakesObjects(const json& schema);

}  // namespace agent_graph::tools

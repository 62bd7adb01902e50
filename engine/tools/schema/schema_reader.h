// Validates a schema, and collects its patterns and references.
//
// Schemas come from servers and clients and are read on a fiber's small stack. Nothing here is
// recursive, because their authors choose how long a chain of references is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "tools/schema/json_schema.h"
#include "tools/schema/keywords.h"

namespace agent_graph::tools {

inline constexpr std::string_view kTypeNames[] = {"array",  "boolean", "integer", "null",
                                                  "number", "object",  "string"};

// Reads one schema; created for each call of JsonSchema::Compile. Not thread-safe.
class SchemaReader {
 public:
  explicit SchemaReader(JsonSchema& schema) : schema_(schema) {}

  Status Read();

 private:
  // Location of a schema: a member or an element of another place. It is converted to text only for
  // an error, because keys may be long and places many.
  struct Place {
    size_t parent;
    std::string_view member;
    size_t element = 0;  // index in a list, whose elements have no member name
  };
  struct Unread {
    const json* schema;
    size_t place;
  };

  void Enqueue(const json& schema, const Place& place);
  Status ReadSchema(const json& schema, size_t place);
  Status ReadKeyword(KeywordForm form, const json& value, const Place& place);
  Status ReadScalar(KeywordForm form, const json& value, const Place& place);
  void EnqueueList(const json& list, const Place& place);
  Status ReadSchemaMap(KeywordForm form, const json& map, const Place& place);
  Status ReadReference(const json& value, const Place& place);
  Status AddPattern(const std::string& text, const Place& place);
  size_t Keep(const Place& place);
  Status Refuse(const Place& place, const std::string& problem) const;

  JsonSchema& schema_;
  std::vector<Place> places_;
  std::vector<Unread> unread_;
  std::unordered_set<const json*> known_;
  size_t patterns_ = 0;
  size_t pattern_bytes_ = 0;
};

}  // namespace agent_graph::tools

// The supported keywords of JSON Schema, and the form of their values.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace agent_graph::tools {

// Form of a keyword's value.
enum class KeywordForm : uint8_t {
  kAny,
  kTypes,         // name of a type, or several
  kList,          // any values
  kNumber,        //
  kNumberOrFlag,  // exclusiveMinimum and exclusiveMaximum are flags in draft 4
  kCount,         // an integer >= 0
  kFlag,
  kPattern,
  kNames,         // strings
  kNameLists,     // an object of lists of strings
  kSchema,        // an object, true or false
  kSchemaOrList,  // `items`
  kSchemas,       // a list with at least one item
  kSchemaMap,     // an object of schemas
  kPatternMap,    // like kSchemaMap; the keys are patterns
  kDependencies,  // an object of schemas or lists of strings
  kReference,
};

struct Keyword {
  std::string_view name;
  KeywordForm form;
};

std::span<const Keyword> Keywords();  // sorted by name
const Keyword* FindKeyword(std::string_view name);

}  // namespace agent_graph::tools

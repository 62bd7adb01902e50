// The keywords of JSON Schema that are understood, and what their values have to be.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace agent_graph::tools {

// Of a keyword's value.
enum class KeywordForm : uint8_t {
  kAny,
  kTypes,         // a type's name, or several
  kList,          // any values
  kNumber,        //
  kNumberOrFlag,  // exclusiveMinimum and its kind are flags in draft 4
  kCount,         // an integer from 0
  kFlag,
  kText,
  kPattern,
  kNames,         // strings
  kNameLists,     // an object of lists of strings
  kSchema,        // an object, true or false
  kSchemaOrList,  // `items`
  kSchemas,       // a list that is not empty
  kSchemaMap,     // an object of schemas
  kPatternMap,    // the same; its keys are patterns
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

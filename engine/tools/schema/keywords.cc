#include "tools/schema/keywords.h"

#include <algorithm>
#include <array>

namespace agent_graph::tools {
namespace {

using enum KeywordForm;

constexpr std::array kKeywords = {
    Keyword{"$defs", kSchemaMap},
    Keyword{"$ref", kReference},
    Keyword{"additionalItems", kSchema},
    Keyword{"additionalProperties", kSchema},
    Keyword{"allOf", kSchemas},
    Keyword{"anyOf", kSchemas},
    Keyword{"const", kAny},
    Keyword{"contains", kSchema},
    Keyword{"definitions", kSchemaMap},
    Keyword{"dependencies", kDependencies},
    Keyword{"dependentRequired", kNameLists},
    Keyword{"dependentSchemas", kSchemaMap},
    Keyword{"else", kSchema},
    Keyword{"enum", kList},
    Keyword{"exclusiveMaximum", kNumberOrFlag},
    Keyword{"exclusiveMinimum", kNumberOrFlag},
    Keyword{"if", kSchema},
    Keyword{"items", kSchemaOrList},
    Keyword{"maxContains", kCount},
    Keyword{"maxItems", kCount},
    Keyword{"maxLength", kCount},
    Keyword{"maxProperties", kCount},
    Keyword{"maximum", kNumber},
    Keyword{"minContains", kCount},
    Keyword{"minItems", kCount},
    Keyword{"minLength", kCount},
    Keyword{"minProperties", kCount},
    Keyword{"minimum", kNumber},
    Keyword{"multipleOf", kNumber},
    Keyword{"not", kSchema},
    Keyword{"oneOf", kSchemas},
    Keyword{"pattern", kPattern},
    Keyword{"patternProperties", kPatternMap},
    Keyword{"prefixItems", kSchemas},
    Keyword{"properties", kSchemaMap},
    Keyword{"propertyNames", kSchema},
    Keyword{"required", kNames},
    Keyword{"then", kSchema},
    Keyword{"type", kTypes},
    Keyword{"uniqueItems", kFlag},
};
static_assert(std::ranges::is_sorted(kKeywords, {}, &Keyword::name));

}  // namespace

std::span<const Keyword> Keywords() {
  return kKeywords;
}

const Keyword* FindKeyword(std::string_view name) {
  const auto* found = std::ranges::lower_bound(kKeywords, name, {}, &Keyword::name);
  return found != kKeywords.end() && found->name == name ? found : nullptr;
}

}  // namespace agent_graph::tools

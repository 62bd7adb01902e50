// Checks a value against its schema.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "tools/schema/json_schema.h"

namespace agent_graph::tools {

// Maximum nesting of schemas; each level takes several frames of a fiber's stack.
inline constexpr int kSchemaDepthMax = 48;
// Maximum number of schemas and keywords that are evaluated for one value. Neither a large value
// nor a recursive schema can block an engine thread.
inline constexpr size_t kSchemaStepsMax = 50'000;

// Checks one value; created for each call of JsonSchema::Check. Not thread-safe.
class SchemaChecker {
 public:
  explicit SchemaChecker(const JsonSchema& schema) : schema_(schema) {}

  std::vector<std::string> Run(const json& value);

 private:
  struct Rule;
  static const Rule* FindRule(std::string_view keyword);

  // Each function returns true if the value is valid; otherwise it records a problem unless hushed_
  // is set.
  bool Check(const json& schema, const json& value);
  bool CheckKeywords(const json& schema, const json& value);
  bool Fits(const json& schema, const json& value);  // without recording problems
  bool CheckAt(const std::string& step, const json& schema, const json& value);
  bool Fail(std::string_view problem);
  bool Spend(size_t steps);
  bool SpendOn(const std::string& text);  // the cost of reading it once
  // Returns the steps to compare it with another value, at most kSchemaStepsMax.
  static size_t StepsToCompare(const json& value);
  // Returns the value as text for a problem; empty if no problem would be recorded.
  std::string Shown(const json& value) const;

  bool Reference(const json& schema, const json& keyword, const json& value);
  bool Type(const json& schema, const json& keyword, const json& value);
  bool Enum(const json& schema, const json& keyword, const json& value);
  bool Const(const json& schema, const json& keyword, const json& value);
  bool Minimum(const json& schema, const json& keyword, const json& value);
  bool Maximum(const json& schema, const json& keyword, const json& value);
  bool ExclusiveMinimum(const json& schema, const json& keyword, const json& value);
  bool ExclusiveMaximum(const json& schema, const json& keyword, const json& value);
  bool MultipleOf(const json& schema, const json& keyword, const json& value);
  bool MinLength(const json& schema, const json& keyword, const json& value);
  bool MaxLength(const json& schema, const json& keyword, const json& value);
  bool MatchesPattern(const json& schema, const json& keyword, const json& value);
  bool Properties(const json& schema, const json& keyword, const json& value);
  bool PatternProperties(const json& schema, const json& keyword, const json& value);
  bool AdditionalProperties(const json& schema, const json& keyword, const json& value);
  bool PropertyNames(const json& schema, const json& keyword, const json& value);
  bool Required(const json& schema, const json& keyword, const json& value);
  bool MinProperties(const json& schema, const json& keyword, const json& value);
  bool MaxProperties(const json& schema, const json& keyword, const json& value);
  bool Dependencies(const json& schema, const json& keyword, const json& value);
  bool Items(const json& schema, const json& keyword, const json& value);
  bool PrefixItems(const json& schema, const json& keyword, const json& value);
  bool AdditionalItems(const json& schema, const json& keyword, const json& value);
  bool MinItems(const json& schema, const json& keyword, const json& value);
  bool MaxItems(const json& schema, const json& keyword, const json& value);
  bool UniqueItems(const json& schema, const json& keyword, const json& value);
  bool Contains(const json& schema, const json& keyword, const json& value);
  bool AllOf(const json& schema, const json& keyword, const json& value);
  bool AnyOf(const json& schema, const json& keyword, const json& value);
  bool OneOf(const json& schema, const json& keyword, const json& value);
  bool Not(const json& schema, const json& keyword, const json& value);
  bool If(const json& schema, const json& keyword, const json& value);

  // kUnknown: the pattern is of another dialect.
  enum class Match { kYes, kNo, kUnknown };
  Match MatchText(const std::string& pattern, const std::string& text);
  bool CheckItemsFrom(size_t first, const json& schema, const json& value);
  bool Names(const json& names, const json& value);

  const JsonSchema& schema_;
  std::vector<std::string> path_;
  std::vector<std::string> problems_;
  int hushed_ = 0;
  int depth_ = 0;
  size_t steps_ = 0;
  bool gave_up_ = false;
};

}  // namespace agent_graph::tools

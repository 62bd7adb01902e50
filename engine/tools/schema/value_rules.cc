// SchemaChecker: keywords for single values.
#include <algorithm>
#include <cmath>

#include "agent_graph/json.h"
#include "tools/schema/schema_checker.h"

namespace agent_graph::tools {
namespace {

constexpr size_t kPatternBytesPerStep = 64;
constexpr size_t kStepsOfMatch = 8;  // charged per match; most cost less
constexpr size_t kStepsOfHardMatch = 200;

bool IsInteger(const json& value) {
  if (value.is_number_integer()) return true;
  return value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>();
}

bool HasType(const json& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "number") return value.is_number();
  if (type == "integer") return IsInteger(value);
  if (type == "boolean") return value.is_boolean();
  return value.is_null();
}

size_t CodePoints(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string Article(const std::string& type) {
  if (type == "null") return "null";
  const bool vowel = type == "array" || type == "integer" || type == "object";
  return (vowel ? "an " : "a ") + type;
}

}  // namespace

bool SchemaChecker::Type(const json&, const json& keyword, const json& value) {
  if (keyword.is_string()) {
    const auto& type = keyword.get_ref<const std::string&>();
    return HasType(value, type) || Fail("must be " + Article(type));
  }
  if (!Spend(keyword.size())) return false;
  std::string wanted;
  for (const json& type : keyword) {
    if (HasType(value, type.get_ref<const std::string&>())) return true;
    if (!wanted.empty()) wanted += " or ";
    wanted += Article(type.get_ref<const std::string&>());
  }
  return Fail("must be " + wanted);
}

bool SchemaChecker::Enum(const json&, const json& keyword, const json& value) {
  if (!Spend((keyword.size() / 8 + 1) * StepsToCompare(value))) return false;
  if (std::find(keyword.begin(), keyword.end(), value) != keyword.end()) return true;
  return Fail("must be one of " + Shown(keyword));
}

bool SchemaChecker::Const(const json&, const json& keyword, const json& value) {
  if (!Spend(StepsToCompare(value))) return false;
  return value == keyword || Fail("must be " + Shown(keyword));
}

bool SchemaChecker::Minimum(const json& schema, const json& keyword, const json& value) {
  if (!value.is_number()) return true;
  const auto exclusive = schema.find("exclusiveMinimum");
  if (exclusive != schema.end() && *exclusive == true) {
    return value > keyword || Fail("must be greater than " + Shown(keyword));
  }
  return value >= keyword || Fail("must be at least " + Shown(keyword));
}

bool SchemaChecker::Maximum(const json& schema, const json& keyword, const json& value) {
  if (!value.is_number()) return true;
  const auto exclusive = schema.find("exclusiveMaximum");
  if (exclusive != schema.end() && *exclusive == true) {
    return value < keyword || Fail("must be less than " + Shown(keyword));
  }
  return value <= keyword || Fail("must be at most " + Shown(keyword));
}

bool SchemaChecker::ExclusiveMinimum(const json&, const json& keyword, const json& value) {
  if (!value.is_number() || keyword.is_boolean()) return true;
  return value > keyword || Fail("must be greater than " + Shown(keyword));
}

bool SchemaChecker::ExclusiveMaximum(const json&, const json& keyword, const json& value) {
  if (!value.is_number() || keyword.is_boolean()) return true;
  return value < keyword || Fail("must be less than " + Shown(keyword));
}

bool SchemaChecker::MultipleOf(const json&, const json& keyword, const json& value) {
  if (!value.is_number()) return true;
  const auto unit = keyword.get<double>();
  if (unit <= 0) return true;
  if (value.is_number_integer() && keyword.is_number_integer() &&
      std::abs(value.get<double>()) < 9.0e15) {
    return value.get<int64_t>() % keyword.get<int64_t>() == 0 ||
           Fail("must be a multiple of " + Shown(keyword));
  }
  const double quotient = value.get<double>() / unit;
  const double whole = std::round(quotient);
  const bool fits = std::isfinite(quotient) &&
                    std::abs(quotient - whole) <= 1e-9 * std::max(1.0, std::abs(whole));
  return fits || Fail("must be a multiple of " + Shown(keyword));
}

bool SchemaChecker::MinLength(const json&, const json& keyword, const json& value) {
  if (!value.is_string()) return true;
  if (!SpendOn(value.get_ref<const std::string&>())) return false;
  const auto length = static_cast<double>(CodePoints(value.get_ref<const std::string&>()));
  return length >= keyword.get<double>() ||
         Fail("must have at least " + Shown(keyword) + " characters");
}

bool SchemaChecker::MaxLength(const json&, const json& keyword, const json& value) {
  if (!value.is_string()) return true;
  if (!SpendOn(value.get_ref<const std::string&>())) return false;
  const auto length = static_cast<double>(CodePoints(value.get_ref<const std::string&>()));
  return length <= keyword.get<double>() ||
         Fail("must have at most " + Shown(keyword) + " characters");
}

SchemaChecker::Match SchemaChecker::MatchText(const std::string& pattern, const std::string& text) {
  if (!SpendOn(pattern)) return Match::kNo;
  const auto found = schema_.patterns_.find(pattern);
  if (found == schema_.patterns_.end()) return Match::kUnknown;
  if (!Spend(kStepsOfMatch + text.size() / kPatternBytesPerStep)) return Match::kNo;
  const std::optional<bool> matches = found->second->Matches(text);
  if (!matches) (void)Spend(kStepsOfHardMatch);
  return matches.value_or(false) ? Match::kYes : Match::kNo;
}

bool SchemaChecker::MatchesPattern(const json&, const json& keyword, const json& value) {
  if (!value.is_string()) return true;
  const Match match =
      MatchText(keyword.get_ref<const std::string&>(), value.get_ref<const std::string&>());
  return match != Match::kNo || Fail("must match the pattern " + Shown(keyword));
}

}  // namespace agent_graph::tools

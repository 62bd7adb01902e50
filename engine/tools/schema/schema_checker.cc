#include "tools/schema/schema_checker.h"

#include <algorithm>
#include <array>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/text.h"

namespace agent_graph::tools {
namespace {

constexpr size_t kShownPathBytesMax = 200;  // bounds a value's path in a problem text
constexpr size_t kShownBytesMax = 200;
constexpr size_t kTextBytesPerStep = 1024;
constexpr size_t kComparedValuesPerStep = 8;

}  // namespace

struct SchemaChecker::Rule {
  std::string_view keyword;
  bool (SchemaChecker::*check)(const json& schema, const json& keyword, const json& value);
};

const SchemaChecker::Rule* SchemaChecker::FindRule(std::string_view keyword) {
  using Self = SchemaChecker;
  static constexpr std::array kRules = {
      Rule{"$ref", &Self::Reference},
      Rule{"additionalItems", &Self::AdditionalItems},
      Rule{"additionalProperties", &Self::AdditionalProperties},
      Rule{"allOf", &Self::AllOf},
      Rule{"anyOf", &Self::AnyOf},
      Rule{"const", &Self::Const},
      Rule{"contains", &Self::Contains},
      Rule{"dependencies", &Self::Dependencies},
      Rule{"dependentRequired", &Self::Dependencies},
      Rule{"dependentSchemas", &Self::Dependencies},
      Rule{"enum", &Self::Enum},
      Rule{"exclusiveMaximum", &Self::ExclusiveMaximum},
      Rule{"exclusiveMinimum", &Self::ExclusiveMinimum},
      Rule{"if", &Self::If},
      Rule{"items", &Self::Items},
      Rule{"maxItems", &Self::MaxItems},
      Rule{"maxLength", &Self::MaxLength},
      Rule{"maxProperties", &Self::MaxProperties},
      Rule{"maximum", &Self::Maximum},
      Rule{"minItems", &Self::MinItems},
      Rule{"minLength", &Self::MinLength},
      Rule{"minProperties", &Self::MinProperties},
      Rule{"minimum", &Self::Minimum},
      Rule{"multipleOf", &Self::MultipleOf},
      Rule{"not", &Self::Not},
      Rule{"oneOf", &Self::OneOf},
      Rule{"pattern", &Self::MatchesPattern},
      Rule{"patternProperties", &Self::PatternProperties},
      Rule{"prefixItems", &Self::PrefixItems},
      Rule{"properties", &Self::Properties},
      Rule{"propertyNames", &Self::PropertyNames},
      Rule{"required", &Self::Required},
      Rule{"type", &Self::Type},
      Rule{"uniqueItems", &Self::UniqueItems},
  };
  static_assert(std::ranges::is_sorted(kRules, {}, &Rule::keyword));
  const auto* found = std::ranges::lower_bound(kRules, keyword, {}, &Rule::keyword);
  return found != kRules.end() && found->keyword == keyword ? found : nullptr;
}

std::vector<std::string> SchemaChecker::Run(const json& value) {
  const bool fits = Check(*schema_.root_, value);
  if (gave_up_) {
    problems_.resize(std::min(problems_.size(), kSchemaProblemsMax - 1));
    problems_.emplace_back("too large, or too deeply nested, to be checked");
  }
  if (!fits && problems_.empty()) problems_.emplace_back("does not match the schema");
  return std::move(problems_);
}

bool SchemaChecker::Check(const json& schema, const json& value) {
  if (!Spend(1)) return false;
  if (schema.is_boolean()) return schema.get<bool>() || Fail("is not allowed");
  if (!schema.is_object()) return true;
  if (depth_ == kSchemaDepthMax) {
    gave_up_ = true;
    return false;
  }
  ++depth_;
  const bool fits = CheckKeywords(schema, value);
  --depth_;
  return fits;
}

bool SchemaChecker::CheckKeywords(const json& schema, const json& value) {
  bool fits = true;
  for (auto member = schema.begin(); member != schema.end(); ++member) {
    const Rule* rule = FindRule(member.key());
    if (rule == nullptr) continue;
    if (!Spend(1)) return false;
    fits = (this->*rule->check)(schema, *member, value) && fits;
    if (!fits && (hushed_ > 0 || gave_up_)) break;
  }
  return fits;
}

bool SchemaChecker::Fits(const json& schema, const json& value) {
  ++hushed_;
  const bool fits = Check(schema, value);
  --hushed_;
  return fits;
}

bool SchemaChecker::CheckAt(const std::string& step, const json& schema, const json& value) {
  if (hushed_ > 0) return Check(schema, value);
  path_.push_back(step.substr(0, kShownPathBytesMax));
  const bool fits = Check(schema, value);
  path_.pop_back();
  return fits;
}

bool SchemaChecker::Fail(std::string_view problem) {
  if (hushed_ > 0 || problems_.size() == kSchemaProblemsMax) return false;
  std::string text;
  for (const std::string& step : path_) {
    if (!text.empty()) text.push_back('.');
    text += step;
    if (text.size() > kShownPathBytesMax) break;
  }
  text.resize(CutAtCharacter(text, kShownPathBytesMax).size());
  if (text.empty()) text = "the whole";
  problems_.push_back(text.append(": ").append(problem));
  return false;
}

bool SchemaChecker::Spend(size_t steps) {
  steps_ += steps;
  gave_up_ = gave_up_ || steps_ > kSchemaStepsMax;
  return !gave_up_;
}

bool SchemaChecker::SpendOn(const std::string& text) {
  return Spend(1 + text.size() / kTextBytesPerStep);
}

size_t SchemaChecker::StepsToCompare(const json& value) {
  size_t values = 0;
  std::vector<const json*> pending{&value};
  while (!pending.empty() && values < kSchemaStepsMax * kComparedValuesPerStep) {
    const json& next = *pending.back();
    pending.pop_back();
    ++values;
    if (next.is_string()) {
      values += next.get_ref<const std::string&>().size() / kTextBytesPerStep;
    } else if (next.is_structured()) {
      for (const json& inner : next) pending.push_back(&inner);
    }
  }
  return 1 + values / kComparedValuesPerStep;
}

std::string SchemaChecker::Shown(const json& value) const {
  if (hushed_ > 0 || problems_.size() == kSchemaProblemsMax) return "";
  std::string text = DumpJson(value);
  if (text.size() <= kShownBytesMax) return text;
  return std::string(CutAtCharacter(text, kShownBytesMax)) + "…";
}

// --- keywords that combine schemas ------------------------------------------------------------

bool SchemaChecker::Reference(const json&, const json& keyword, const json& value) {
  const auto found = schema_.references_.find(keyword.get_ref<const std::string&>());
  return found == schema_.references_.end() || Check(*found->second, value);
}

bool SchemaChecker::AllOf(const json&, const json& keyword, const json& value) {
  bool fits = true;
  for (const json& schema : keyword) fits = Check(schema, value) && fits;
  return fits;
}

bool SchemaChecker::AnyOf(const json&, const json& keyword, const json& value) {
  if (keyword.size() == 1) return Check(keyword[0], value);
  for (const json& schema : keyword) {
    if (Fits(schema, value)) return true;
  }
  return Fail("matches none of the allowed schemas");
}

bool SchemaChecker::OneOf(const json&, const json& keyword, const json& value) {
  size_t fitting = 0;
  for (const json& schema : keyword) fitting += Fits(schema, value) ? 1 : 0;
  if (fitting == 1) return true;
  return Fail(fitting == 0
                  ? "matches none of the allowed schemas"
                  : "matches more than one of the schemas of which exactly one must match");
}

bool SchemaChecker::Not(const json&, const json& keyword, const json& value) {
  if (!Fits(keyword, value)) return !gave_up_;
  return Fail("matches a schema that is not allowed");
}

bool SchemaChecker::If(const json& schema, const json& keyword, const json& value) {
  const auto branch = schema.find(Fits(keyword, value) ? "then" : "else");
  return !gave_up_ && (branch == schema.end() || Check(*branch, value));
}

}  // namespace agent_graph::tools

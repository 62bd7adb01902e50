// SchemaChecker: keywords for objects and arrays.
#include <algorithm>

#include "agent_graph/json.h"
#include "tools/schema/schema_checker.h"

namespace agent_graph::tools {
namespace {

bool IsAtLeast(size_t count, const json& bound) {
  return static_cast<double>(count) >= bound.get<double>();
}

bool IsAtMost(size_t count, const json& bound) {
  return static_cast<double>(count) <= bound.get<double>();
}

}  // namespace

// --- objects ----------------------------------------------------------------------------------

bool SchemaChecker::Properties(const json&, const json& keyword, const json& value) {
  if (!value.is_object()) return true;
  bool fits = true;
  for (auto property = keyword.begin(); property != keyword.end(); ++property) {
    const auto member = value.find(property.key());
    if (!Spend(1)) return false;
    if (member != value.end()) fits = CheckAt(property.key(), *property, *member) && fits;
  }
  return fits;
}

bool SchemaChecker::PatternProperties(const json&, const json& keyword, const json& value) {
  if (!value.is_object()) return true;
  bool fits = true;
  for (auto property = keyword.begin(); property != keyword.end(); ++property) {
    for (auto member = value.begin(); member != value.end(); ++member) {
      if (MatchText(property.key(), member.key()) != Match::kYes) continue;
      fits = CheckAt(member.key(), *property, *member) && fits;
    }
  }
  return fits && !gave_up_;
}

bool SchemaChecker::AdditionalProperties(const json& schema, const json& keyword,
                                         const json& value) {
  if (!value.is_object() || keyword == true) return true;
  const auto declared = schema.find("properties");
  const auto patterns = schema.find("patternProperties");
  bool fits = true;
  for (auto member = value.begin(); member != value.end(); ++member) {
    if (!Spend(1)) return false;
    if (declared != schema.end() && declared->contains(member.key())) continue;
    bool matched = false;
    if (patterns != schema.end()) {
      for (auto pattern = patterns->begin(); pattern != patterns->end() && !matched; ++pattern) {
        matched = MatchText(pattern.key(), member.key()) != Match::kNo;
      }
    }
    if (!matched) fits = CheckAt(member.key(), keyword, *member) && fits;
  }
  return fits;
}

bool SchemaChecker::PropertyNames(const json&, const json& keyword, const json& value) {
  if (!value.is_object()) return true;
  bool fits = true;
  for (auto member = value.begin(); member != value.end(); ++member) {
    if (!SpendOn(member.key())) return false;
    if (!Fits(keyword, member.key()))
      fits = Fail("has the property " + Shown(member.key()) + ", whose name is not allowed");
  }
  return fits;
}

bool SchemaChecker::Names(const json& names, const json& value) {
  bool fits = true;
  for (const json& name : names) {
    if (!Spend(1)) return false;
    const auto& text = name.get_ref<const std::string&>();
    if (value.contains(text)) continue;
    if (hushed_ > 0) return false;
    path_.push_back(text);
    fits = Fail("is missing");
    path_.pop_back();
  }
  return fits;
}

bool SchemaChecker::Required(const json&, const json& keyword, const json& value) {
  return !value.is_object() || Names(keyword, value);
}

bool SchemaChecker::MinProperties(const json&, const json& keyword, const json& value) {
  return !value.is_object() || IsAtLeast(value.size(), keyword) ||
         Fail("must have at least " + Shown(keyword) + " properties");
}

bool SchemaChecker::MaxProperties(const json&, const json& keyword, const json& value) {
  return !value.is_object() || IsAtMost(value.size(), keyword) ||
         Fail("must have at most " + Shown(keyword) + " properties");
}

bool SchemaChecker::Dependencies(const json&, const json& keyword, const json& value) {
  if (!value.is_object()) return true;
  bool fits = true;
  for (auto dependency = keyword.begin(); dependency != keyword.end(); ++dependency) {
    if (!Spend(1)) return false;
    if (!value.contains(dependency.key())) continue;
    fits = (dependency->is_array() ? Names(*dependency, value) : Check(*dependency, value)) && fits;
  }
  return fits;
}

// --- arrays -----------------------------------------------------------------------------------

bool SchemaChecker::CheckItemsFrom(size_t first, const json& schema, const json& value) {
  bool fits = true;
  for (size_t i = first; i < value.size(); ++i) {
    if (!Spend(1)) return false;
    fits = CheckAt(std::to_string(i), schema, value[i]) && fits;
    if (!fits && hushed_ > 0) return false;
  }
  return fits;
}

bool SchemaChecker::PrefixItems(const json&, const json& keyword, const json& value) {
  if (!value.is_array()) return true;
  bool fits = true;
  for (size_t i = 0; i < std::min(keyword.size(), value.size()); ++i) {
    fits = CheckAt(std::to_string(i), keyword[i], value[i]) && fits;
  }
  return fits;
}

bool SchemaChecker::Items(const json& schema, const json& keyword, const json& value) {
  if (!value.is_array()) return true;
  if (keyword.is_array()) return PrefixItems(schema, keyword, value);
  const auto prefix = schema.find("prefixItems");
  return CheckItemsFrom(prefix == schema.end() ? 0 : prefix->size(), keyword, value);
}

bool SchemaChecker::AdditionalItems(const json& schema, const json& keyword, const json& value) {
  const auto items = schema.find("items");
  if (!value.is_array() || items == schema.end() || !items->is_array()) return true;
  return CheckItemsFrom(items->size(), keyword, value);
}

bool SchemaChecker::MinItems(const json&, const json& keyword, const json& value) {
  return !value.is_array() || IsAtLeast(value.size(), keyword) ||
         Fail("must have at least " + Shown(keyword) + " items");
}

bool SchemaChecker::MaxItems(const json&, const json& keyword, const json& value) {
  return !value.is_array() || IsAtMost(value.size(), keyword) ||
         Fail("must have at most " + Shown(keyword) + " items");
}

bool SchemaChecker::UniqueItems(const json&, const json& keyword, const json& value) {
  if (!value.is_array() || keyword == false) return true;
  // Sorting compares each item several times.
  if (!Spend(value.size() + 4 * StepsToCompare(value))) return false;
  std::vector<const json*> items;
  items.reserve(value.size());
  for (const json& item : value) items.push_back(&item);
  std::sort(items.begin(), items.end(), [](const json* a, const json* b) { return *a < *b; });
  const bool repeated =
      std::adjacent_find(items.begin(), items.end(),
                         [](const json* a, const json* b) { return *a == *b; }) != items.end();
  return !repeated || Fail("must not contain duplicate items");
}

bool SchemaChecker::Contains(const json& schema, const json& keyword, const json& value) {
  if (!value.is_array()) return true;
  size_t found = 0;
  for (const json& item : value) found += Fits(keyword, item) ? 1 : 0;
  const auto least = schema.find("minContains");
  const auto most = schema.find("maxContains");
  const bool enough = least == schema.end() ? found > 0 : IsAtLeast(found, *least);
  if (enough && (most == schema.end() || IsAtMost(found, *most))) return !gave_up_;
  return Fail("has the wrong number of items of the form that it must contain");
}

}  // namespace agent_graph::tools

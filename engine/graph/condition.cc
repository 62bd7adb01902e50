#include "graph/condition.h"

#include <algorithm>
#include <string>
#include <vector>

#include "agent_graph/json.h"
#include "base/letter_case.h"
#include "graph/definition.h"

namespace agent_graph::graph {
namespace {

using Comparison = bool (*)(const json& current, const json& wanted);

bool Equals(const json& current, const json& wanted) {
  return current == wanted;
}
bool Differs(const json& current, const json& wanted) {
  return current != wanted;
}
bool IsAbove(const json& current, const json& wanted) {
  return current.is_number() && current > wanted;
}
bool IsBelow(const json& current, const json& wanted) {
  return current.is_number() && current < wanted;
}
// True if an array has the element, or a string has the substring.
bool Contains(const json& current, const json& wanted) {
  if (current.is_array()) return std::find(current.begin(), current.end(), wanted) != current.end();
  if (!current.is_string() || !wanted.is_string()) return false;
  return current.get_ref<const std::string&>().find(wanted.get_ref<const std::string&>()) !=
         std::string::npos;
}
bool Exists(const json& current, const json& wanted) {
  return !current.is_null() == wanted.get<bool>();
}

struct Operator {
  const char* key;
  Comparison compare;
};
constexpr Operator kOperators[] = {{"equals", Equals}, {"not_equals", Differs}, {"above", IsAbove},
                                   {"below", IsBelow}, {"contains", Contains},  {"exists", Exists}};

// "customer.tier" → member `tier` of member `customer`; null if it does not exist.
json ValueAt(const State& state, const std::string& dotted) {
  const json* value = &state.fields();
  for (size_t start = 0; start <= dotted.size();) {
    size_t end = std::min(dotted.find('.', start), dotted.size());
    if (!value->is_object()) return json();
    auto found = value->find(dotted.substr(start, end - start));
    if (found == value->end()) return json();
    value = &*found;
    start = end + 1;
  }
  return *value;
}

Condition ReadFieldCondition(ObjectReader& reader) {
  std::string field = reader.RequiredText("field");
  // Conditions see only the graph's own fields, so the comparison would never change.
  if (IsBuiltInField(field.substr(0, field.find('.')))) {
    reader.Fail(reader.PathOf("field"),
                "belongs to the state itself: a condition tests a field of the graph");
  }
  const Operator* chosen = nullptr;
  const json* wanted = nullptr;
  for (const Operator& candidate : kOperators) {
    const json* value = reader.Value(candidate.key);
    if (value == nullptr) continue;
    if (chosen != nullptr) reader.Fail(reader.path(), "one comparison at a time");
    chosen = &candidate;
    wanted = value;
  }
  if (chosen == nullptr) {
    reader.Fail(reader.path(),
                "a field needs one of equals, not_equals, above, below, contains, exists");
    return nullptr;
  }
  if ((chosen->compare == IsAbove || chosen->compare == IsBelow) && !wanted->is_number()) {
    reader.Fail(reader.PathOf(chosen->key), "must be a number");
  }
  if (chosen->compare == Exists && !wanted->is_boolean()) {
    reader.Fail(reader.PathOf(chosen->key), "must be true or false");
  }
  return [field, compare = chosen->compare, wanted = *wanted](const State& state) {
    return compare(ValueAt(state, field), wanted);
  };
}

// `true`, `false`, or the tools of which at least one is called.
Condition ReadCallsCondition(ObjectReader& reader) {
  constexpr char kKey[] = "tool_calls_pending";
  const json& value = *reader.Value(kKey);
  if (!value.is_array()) {
    const bool wanted = reader.Bool(kKey, true);
    return [wanted](const State& state) { return !state.PendingToolCalls().empty() == wanted; };
  }
  const std::vector<std::string> names = reader.TextList(kKey);
  if (names.empty()) reader.Fail(reader.PathOf(kKey), "needs the name of a tool");
  return [names](const State& state) {
    return std::ranges::any_of(state.PendingToolCalls(), [&](const ToolCallBlock* call) {
      return std::ranges::find(names, call->name) != names.end();
    });
  };
}

}  // namespace

Condition ReadCondition(ObjectReader& reader) {
  bool has_calls = reader.Value("tool_calls_pending") != nullptr;
  bool has_field = reader.Value("field") != nullptr;
  bool has_text = reader.Value("last_text_contains") != nullptr;
  if (has_calls + has_field + has_text != 1) {
    reader.Fail(reader.path(), "needs one of tool_calls_pending, field, last_text_contains");
    return nullptr;
  }
  if (has_field) return ReadFieldCondition(reader);
  if (has_calls) return ReadCallsCondition(reader);
  std::string piece = reader.RequiredText("last_text_contains");
  return [piece](const State& state) {
    const Message* last = state.LastMessage();
    return last != nullptr && ContainsIgnoringCase(last->Text(), piece);
  };
}

}  // namespace agent_graph::graph

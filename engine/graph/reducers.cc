#include "graph/reducers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "base/allocation_account.h"
#include "base/json.h"

namespace agent_graph::graph {
namespace {

constexpr std::pair<std::string_view, Reducer> kNamedReducers[] = {
    {"replace", Reducer::kReplace}, {"append", Reducer::kAppend}, {"sum", Reducer::kSum},
    {"min", Reducer::kMin},         {"max", Reducer::kMax},       {"union", Reducer::kUnion},
    {"merge", Reducer::kMerge}};

Status FieldStatus(const StateField& field, const std::string& problem) {
  return Status(StatusCode::kGraph, "state field \"" + field.name + "\": " + problem);
}

// A client may have set the field to something that is not a list: it becomes the first element.
json& AsList(json& current) {
  if (current.is_null()) current = json::array();
  if (!current.is_array()) current = json::array({std::move(current)});
  return current;
}

json ElementsOf(json update) {
  return update.is_array() ? std::move(update) : json::array({std::move(update)});
}

// The elements of a list from `first` on.
std::string DumpElements(const json& list, size_t first) {
  std::string text = "[";
  for (size_t i = first; i < list.size(); ++i) {
    if (i > first) text.push_back(',');
    text += DumpJson(list[i]);
  }
  text.push_back(']');
  return text;
}

void Append(json& current, json update, UpdateEffect* effect) {
  json& list = AsList(current);
  if (effect != nullptr) *effect = {UpdateEffect::Kind::kAppend, std::nullopt, list.size()};
  for (json& element : ElementsOf(std::move(update))) list.push_back(std::move(element));
}

void Unite(json& current, json update, UpdateEffect* effect) {
  json& list = AsList(current);
  const size_t length = list.size();
  std::unordered_set<std::string> there;
  for (const json& element : list) there.insert(DumpSortedJson(element));
  json elements = ElementsOf(std::move(update));
  for (json& element : elements) {
    if (there.insert(DumpSortedJson(element)).second) list.push_back(std::move(element));
  }
  if (effect == nullptr) return;
  *effect = {UpdateEffect::Kind::kAppend, std::nullopt, length};
  if (list.size() - length != elements.size()) effect->value_json = DumpElements(list, length);
}

bool BeginsWith(const json& list, const json& beginning) {
  return list.is_array() && beginning.is_array() && list.size() >= beginning.size() &&
         std::equal(beginning.begin(), beginning.end(), list.begin());
}

// A function that only adds to a list is common; then the rest of the list need not be stored
// again.
UpdateEffect EffectOfCustom(const json& before, const json& after) {
  if (!BeginsWith(after, before)) return {UpdateEffect::Kind::kReplace, DumpJson(after), 0};
  return {UpdateEffect::Kind::kAppend, DumpElements(after, before.size()), before.size()};
}

bool IsInt64(const json& value) {
  return value.is_number_integer() &&
         (!value.is_number_unsigned() || value.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX));
}

Status Add(const StateField& field, json& current, const json& update) {
  int64_t whole = 0;
  if (IsInt64(current) && IsInt64(update) &&
      !__builtin_add_overflow(current.get<int64_t>(), update.get<int64_t>(), &whole)) {
    current = whole;
    return Status::Ok();
  }
  const double sum = current.get<double>() + update.get<double>();
  if (!std::isfinite(sum)) return FieldStatus(field, "the sum is out of range");
  current = sum;
  return Status::Ok();
}

// Not recursive, because the value may be too deep for the stack of a fiber.
bool IsDeeperThan(const json& value, size_t depth_max) {
  std::vector<std::pair<const json*, size_t>> open = {{&value, 1}};
  while (!open.empty()) {
    const auto [part, depth] = open.back();
    open.pop_back();
    if (!part->is_structured()) continue;
    if (depth > depth_max) return true;
    for (const json& child : *part) {
      if (child.is_structured()) open.emplace_back(&child, depth + 1);
    }
  }
  return false;
}

Status ApplyCustom(const StateField& field, json& current, const json& update,
                   UpdateEffect* effect) {
  json result;
  {
    const AllocationScope scope;
    try {
      result = field.custom(current, update);
    } catch (...) {
      return FieldStatus(field, "the reducer failed: " + CaughtUserFailure().text);
    }
  }
  // A function that nests the current value in the new one would make the state unreadable.
  constexpr size_t kDepthMax = JsonLimits{}.depth_max;
  if (IsDeeperThan(result, kDepthMax)) {
    return FieldStatus(field,
                       "the reducer's result is nested deeper than " + std::to_string(kDepthMax));
  }
  if (effect != nullptr) *effect = EffectOfCustom(current, result);
  current = std::move(result);
  return Status::Ok();
}

// For numbers and objects. A current value of any other type, set by a client, is ignored.
Status Combine(const StateField& field, json& current, json update) {
  if (update.is_null()) return Status::Ok();
  if (!FitsReducer(field.reducer, update)) {
    return FieldStatus(field, "the update is no " + std::string(ValueTypeOf(field.reducer)));
  }
  if (!FitsReducer(field.reducer, current)) {
    current = field.reducer == Reducer::kMerge ? json::object() : update;
    if (field.reducer != Reducer::kMerge) return Status::Ok();
  }
  switch (field.reducer) {
    case Reducer::kSum:
      return Add(field, current, update);
    case Reducer::kMin:
      if (update < current) current = std::move(update);
      return Status::Ok();
    case Reducer::kMax:
      if (update > current) current = std::move(update);
      return Status::Ok();
    default:
      current.merge_patch(update);
      return Status::Ok();
  }
}

}  // namespace

std::optional<Reducer> FindReducer(std::string_view name) {
  for (const auto& [known, reducer] : kNamedReducers) {
    if (known == name) return reducer;
  }
  return std::nullopt;
}

std::vector<std::string> ReducerNames() {
  std::vector<std::string> names;
  for (const auto& [name, reducer] : kNamedReducers) names.emplace_back(name);
  return names;
}

std::string_view ValueTypeOf(Reducer reducer) {
  switch (reducer) {
    case Reducer::kAppend:
    case Reducer::kUnion:
      return "array";
    case Reducer::kSum:
    case Reducer::kMin:
    case Reducer::kMax:
      return "number";
    case Reducer::kMerge:
      return "object";
    default:
      return "";
  }
}

bool FitsReducer(Reducer reducer, const json& value) {
  const std::string_view type = ValueTypeOf(reducer);
  if (type == "array") return value.is_array();
  if (type == "number") return value.is_number();
  return type != "object" || value.is_object();
}

json DefaultOf(const StateField& field) {
  auto value = ParseJson(field.default_json);  // checked when the graph was compiled
  json preset = value.ok() ? std::move(*value) : json();
  if (!preset.is_null()) return preset;
  if (ValueTypeOf(field.reducer) == "array") return json::array();
  if (field.reducer == Reducer::kMerge) return json::object();
  return field.reducer == Reducer::kSum ? json(0) : json();
}

bool MayFail(Reducer reducer) {
  return reducer != Reducer::kReplace && reducer != Reducer::kAppend && reducer != Reducer::kUnion;
}

Status Reduce(const StateField& field, json& current, json update, UpdateEffect* effect) {
  switch (field.reducer) {
    case Reducer::kReplace:
      current = std::move(update);
      return Status::Ok();
    case Reducer::kAppend:
      Append(current, std::move(update), effect);
      return Status::Ok();
    case Reducer::kUnion:
      Unite(current, std::move(update), effect);
      return Status::Ok();
    case Reducer::kCustom:
      return ApplyCustom(field, current, update, effect);
    default:
      break;
  }
  const bool merges = field.reducer == Reducer::kMerge;
  const bool changes_nothing = update.is_null();
  AG_RETURN_IF_ERROR(Combine(field, current, std::move(update)));
  if (effect == nullptr) return Status::Ok();
  if (!merges) {
    *effect = {UpdateEffect::Kind::kReplace, DumpJson(current), 0};
  } else if (changes_nothing) {
    *effect = {UpdateEffect::Kind::kMerge, "{}", 0};
  } else {
    *effect = {UpdateEffect::Kind::kMerge, std::nullopt, 0};
  }
  return Status::Ok();
}

}  // namespace agent_graph::graph

// Custom state fields: defaults and reducers.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "graph/compiled_graph.h"

namespace agent_graph::graph {
namespace {

using nlohmann::json;

json DefaultOf(const StateField& field) {
  auto value = ParseJson(field.default_json);  // checked when the graph was compiled
  json result = value.ok() ? std::move(*value) : json();
  if (field.reducer == Reducer::kAppend && result.is_null()) result = json::array();
  return result;
}

Status FieldStatus(const std::string& name, const std::string& problem) {
  return Status(StatusCode::kGraph, "state field \"" + name + "\": " + problem);
}

// A list that holds anything else (set by a client) becomes a list first.
void Append(json& current, json update) {
  if (current.is_null()) current = json::array();
  if (!current.is_array()) current = json::array({std::move(current)});
  if (!update.is_array()) {
    current.push_back(std::move(update));
    return;
  }
  for (json& element : update) current.push_back(std::move(element));
}

Status ApplyCustom(const StateField& field, json& current, const json& update) {
  try {
    current = field.custom(current, update);
    return Status::Ok();
  } catch (const std::exception& error) {
    return FieldStatus(field.name, std::string("the reducer failed: ") + error.what());
  } catch (...) {
    return FieldStatus(field.name, "the reducer failed");
  }
}

}  // namespace

const StateField* CompiledGraph::FindField(std::string_view name) const {
  auto found = std::find_if(definition_.fields.begin(), definition_.fields.end(),
                            [&](const StateField& field) { return field.name == name; });
  return found == definition_.fields.end() ? nullptr : &*found;
}

void CompiledGraph::AddMissingFields(State& state) const {
  json& fields = state.mutable_fields();
  for (const StateField& field : definition_.fields) {
    if (!fields.contains(field.name)) fields[field.name] = DefaultOf(field);
  }
}

Status CompiledGraph::ApplyUpdates(const std::vector<FieldUpdate>& updates, State& state) const {
  json& fields = state.mutable_fields();
  for (const FieldUpdate& update : updates) {
    if (update.name.empty()) return FieldStatus(update.name, "has no name");
    if (IsBuiltInField(update.name)) {
      return FieldStatus(update.name, "belongs to the state itself and cannot be set by a node");
    }
    auto value = ParseJson(update.value_json);
    if (!value.ok()) return FieldStatus(update.name, value.status().message());
    const StateField* field = FindField(update.name);
    json& current = fields[update.name];
    if (field == nullptr || field->reducer == Reducer::kReplace) {
      current = std::move(*value);
    } else if (field->reducer == Reducer::kAppend) {
      Append(current, std::move(*value));
    } else {
      AG_RETURN_IF_ERROR(ApplyCustom(*field, current, *value));
    }
  }
  return Status::Ok();
}

Status CompiledGraph::SetFields(const json& values, State& state) const {
  if (!values.is_object()) {
    return Status(StatusCode::kInvalidArgument, "initial_state: must be an object");
  }
  for (const auto& [name, value] : values.items()) {
    if (!IsBuiltInField(name)) state.mutable_fields()[name] = value;
  }
  return Status::Ok();
}

std::vector<std::string> CompiledGraph::StateFieldNames() const {
  std::vector<std::string> names(std::begin(kBuiltInFields), std::end(kBuiltInFields));
  for (const StateField& field : definition_.fields) names.push_back(field.name);
  return names;
}

}  // namespace agent_graph::graph

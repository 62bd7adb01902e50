// Custom state fields of a graph's state.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "graph/compiled_graph.h"
#include "graph/reducers.h"

namespace agent_graph::graph {
namespace {

using nlohmann::json;

Status FieldStatus(const std::string& name, const std::string& problem) {
  return Status(StatusCode::kGraph, "state field \"" + name + "\": " + problem);
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
    if (field == nullptr) {
      current = std::move(*value);
    } else {
      AG_RETURN_IF_ERROR(Reduce(*field, current, std::move(*value)));
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

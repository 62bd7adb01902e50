// The custom fields of a graph's state.
#include <algorithm>

#include "agent_graph/json.h"
#include "base/sized_json.h"
#include "graph/compiled_graph.h"
#include "graph/reducers.h"
#include "tools/schema/json_schema.h"

namespace agent_graph::graph {
namespace {

Status FieldStatus(const std::string& name, const std::string& problem) {
  return Status(StatusCode::kGraph, "state field \"" + name + "\": " + problem);
}

struct Change {
  const std::string& name;
  const StateField* field;  // null: the field is not declared
  json value;
  UpdateEffect* effect;  // may be null
  json before = nullptr;
};

Result<json> ReadUpdate(const FieldUpdate& update) {
  if (update.name.empty()) return FieldStatus(update.name, "has no name");
  if (IsBuiltInField(update.name)) {
    return FieldStatus(update.name, "belongs to the state itself and cannot be set by a node");
  }
  Result<json> value = ParseJson(update.value_json, kSizedJsonLimits);
  if (!value.ok()) return FieldStatus(update.name, value.status().message());
  return value;
}

// Applies all changes or none.
Status Apply(std::vector<Change>& changes, json& fields) {
  for (size_t i = 0; i < changes.size(); ++i) {
    Change& change = changes[i];
    json& current = fields[change.name];
    // A failing change has no effect, so the last one never needs to be undone.
    if (i + 1 < changes.size()) change.before = current;
    Status status = Reduce(*change.field, current, std::move(change.value), change.effect);
    if (status.ok()) continue;
    while (i-- > 0) fields[changes[i].name] = std::move(changes[i].before);
    return status;
  }
  return Status::Ok();
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

Status CompiledGraph::ApplyUpdates(const std::vector<FieldUpdate>& updates, State& state,
                                   std::vector<UpdateEffect>* effects) const {
  if (effects != nullptr) effects->assign(updates.size(), {});
  // Changes that may fail come first and are undone if one fails. The others need no copy of the
  // old value, which may be a long list. The updates of one field keep their order.
  std::vector<Change> fallible;
  std::vector<Change> certain;
  for (size_t i = 0; i < updates.size(); ++i) {
    const FieldUpdate& update = updates[i];
    AG_ASSIGN_OR_RETURN(json value, ReadUpdate(update));
    const StateField* field = FindField(update.name);
    const bool may_fail = field != nullptr && MayFail(field->reducer);
    UpdateEffect* effect = effects != nullptr ? &(*effects)[i] : nullptr;
    (may_fail ? fallible : certain).push_back({update.name, field, std::move(value), effect});
  }
  json& fields = state.mutable_fields();
  AG_RETURN_IF_ERROR(Apply(fallible, fields));
  for (Change& change : certain) {
    json& current = fields[change.name];
    if (change.field == nullptr) {
      current = std::move(change.value);
    } else {
      AG_RETURN_IF_ERROR(Reduce(*change.field, current, std::move(change.value), change.effect));
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

Status CompiledGraph::CheckFields(const State& state) const {
  for (const StateField& field : definition_.fields) {
    const json& value = state.Field(field.name);
    if (value.is_null() || value == DefaultOf(field)) continue;
    const Result<tools::JsonSchemaPtr> schema = tools::JsonSchema::Compile(field.schema_json);
    if (!schema.ok()) continue;
    const std::vector<std::string> problems = (*schema)->Check(value);
    if (!problems.empty()) return FieldStatus(field.name, problems.front());
  }
  return Status::Ok();
}

std::vector<std::string> CompiledGraph::StateFieldNames() const {
  std::vector<std::string> names(std::begin(kBuiltInFields), std::end(kBuiltInFields));
  for (const StateField& field : definition_.fields) names.push_back(field.name);
  return names;
}

}  // namespace agent_graph::graph

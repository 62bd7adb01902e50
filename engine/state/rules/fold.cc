#include "state/rules/fold.h"

#include <map>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/own_json.h"

namespace agent_graph::state {
namespace {

Result<json> ParseStoredValue(const std::string& text) {
  Result<json> value = ParseJson(text, kOwnJsonLimits);
  if (!value.ok()) return DamagedState().WithDetail("an effect of a run");
  return value;
}

// The run's own view of the fields that it has changed.
class FieldFold {
 public:
  explicit FieldFold(const std::string* base_fields_json) : base_json_(base_fields_json) {}

  Status Apply(const FieldEffect& effect) {
    AG_ASSIGN_OR_RETURN(json value, ParseStoredValue(effect.value_json));
    if (effect.kind == FieldEffect::Kind::kReplace) {
      fields_.insert_or_assign(effect.name, Field{std::move(value), effect.position, true});
      return Status::Ok();
    }
    auto found = fields_.find(effect.name);
    if (found == fields_.end()) {
      AG_ASSIGN_OR_RETURN(Field loaded, Loaded(effect.name));
      found = fields_.emplace(effect.name, std::move(loaded)).first;
    }
    Field& field = found->second;
    field.position = effect.position;
    if (!field.certain) return Status::Ok();
    if (effect.kind == FieldEffect::Kind::kAppend) {
      field.certain = Append(effect.length, std::move(value), field.value);
    } else {
      if (!field.value.is_object()) field.value = json::object();
      field.value.merge_patch(value);
    }
    return Status::Ok();
  }

  void MoveInto(FinishRunRequest& changes) {
    json fields = json::object();
    for (auto& [name, field] : fields_) {
      if (!field.certain) continue;
      fields[name] = std::move(field.value);
      changes.changed_fields.push_back(name);
      changes.changed_at.push_back(field.position);
    }
    changes.snapshot.fields_json = DumpJson(fields);
  }

 private:
  struct Field {
    json value;
    uint64_t position = 0;
    bool certain = false;
  };

  Result<Field> Loaded(const std::string& name) {
    if (base_json_ == nullptr) return Field{};
    if (base_.is_null()) {
      AG_ASSIGN_OR_RETURN(base_, ParseStoredValue(*base_json_));
    }
    const auto member = base_.find(name);
    return Field{member == base_.end() ? json() : *member, 0, true};
  }

  // Returns false if the list does not have the length that the run has seen.
  static bool Append(uint64_t length, json added, json& list) {
    if (list.is_null()) list = json::array();
    if (!list.is_array()) list = json::array({std::move(list)});
    if (list.size() != length) return false;
    if (!added.is_array()) {
      list.push_back(std::move(added));
      return true;
    }
    for (json& element : added) list.push_back(std::move(element));
    return true;
  }

  const std::string* base_json_;  // null: unknown
  json base_;                     // parsed when it is needed
  std::map<std::string, Field> fields_;
};

}  // namespace

bool RunEffects::TakeEarlier(std::vector<LogEntry> entries, uint64_t lease_epoch) {
  if (lease_epoch != lease_epoch_) {
    lacks_older_ = lease_epoch == 0 && !started_;
    return false;
  }
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (entry->effect) effects_.push_back(std::move(*entry->effect));
    const bool complete = entry->effect && effects_.back().complete;
    started_ = started_ || complete || entry->kind == kRunStarted;
    if (started_) return false;
  }
  return true;
}

Result<Snapshot> RunEffects::FoldInto(Snapshot stored,
                                      const std::optional<std::string>& base_fields_json,
                                      const OutsideChangeRow& outside) const {
  if (effects_.empty()) return stored;
  FieldFold fields(base_fields_json && !lacks_older_ ? &*base_fields_json : nullptr);
  FinishRunRequest changes;
  changes.snapshot = stored;
  for (auto effect = effects_.rbegin(); effect != effects_.rend(); ++effect) {
    for (const FieldEffect& field : effect->fields) AG_RETURN_IF_ERROR(fields.Apply(field));
    if (!effect->summary_changed) continue;
    changes.summary_changed = true;
    changes.snapshot.summary = effect->summary;
    changes.summary_changed_at = effect->summary_position;
  }
  fields.MoveInto(changes);
  std::vector<OpenCall> none;
  return MergeFinished(changes, stored, outside, none);
}

}  // namespace agent_graph::state

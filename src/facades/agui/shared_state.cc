#include "facades/agui/shared_state.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/json_weight.h"
#include "base/own_json.h"
#include "facades/agui/events.h"
#include "run/context/agent_state.h"

namespace agent_graph::agui {
namespace {

// Appends to a list that had `length` elements before the change. Elements behind them came from
// the same change, which is now applied again.
void AppendElements(json& list, const json& added, uint64_t length) {
  if (!list.is_array()) list = json::array();
  if (list.size() > length) {
    list.erase(list.begin() + static_cast<json::difference_type>(length), list.end());
  }
  if (!added.is_array()) {
    list.push_back(added);
    return;
  }
  for (const json& element : added) list.push_back(element);
}

}  // namespace

void SharedState::Set(json fields) {
  now_ = fields.is_object() ? std::move(fields) : json::object();
}

void SharedState::Apply(const state::StateEffect& effect) {
  using Kind = state::FieldEffect::Kind;
  for (const state::FieldEffect& change : effect.fields) {
    if (run::IsReservedField(change.name)) continue;
    Result<json> value = ParseJson(change.value_json, kOwnJsonLimits);
    if (!value.ok()) continue;
    json& field = now_[change.name];
    switch (change.kind) {
      case Kind::kReplace:
        field = *std::move(value);
        break;
      case Kind::kAppend:
        AppendElements(field, *value, change.length);
        break;
      case Kind::kMerge:
        field.merge_patch(*value);
        break;
    }
  }
}

Status SharedState::SetFromAgentState(const std::string& state_json) {
  AG_ASSIGN_OR_RETURN(json state, ParseJson(state_json, kOwnJsonLimits));
  if (!state.is_object()) return Status(StatusCode::kInternal, "the state is not an object");
  json fields = json::object();
  for (auto& [name, value] : state.items()) {
    if (!run::IsReservedField(name)) fields[name] = std::move(value);
  }
  now_ = std::move(fields);
  return Status::Ok();
}

void SharedState::AppendSnapshot(std::string& out) {
  const std::string snapshot = DumpJson(now_);
  Event(out, "STATE_SNAPSHOT").Json("snapshot", snapshot);
  sent_ = now_;
  sent_weight_ = JsonWeight(snapshot).bytes();
  has_sent_ = true;
}

void SharedState::AppendChange(std::string& out) {
  if (sent_ == now_) return;
  if (!has_sent_) return AppendSnapshot(out);
  const std::string patch = DumpJson(json::diff(sent_, now_));
  const std::string snapshot = DumpJson(now_);
  if (patch.size() >= snapshot.size()) return AppendSnapshot(out);
  Event(out, "STATE_DELTA").Json("delta", patch);
  sent_ = now_;
  sent_weight_ = JsonWeight(snapshot).bytes();
}

}  // namespace agent_graph::agui

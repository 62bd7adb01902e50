#include "run/context/agent_state.h"

#include "agent_graph/json.h"
#include "base/own_json.h"

namespace agent_graph::run {
namespace {

void AppendCustomFields(std::string& out, std::string_view fields_json) {
  if (fields_json.empty() || fields_json == "{}") return;
  Result<json> fields = ParseJson(fields_json, kOwnJsonLimits);
  if (!fields.ok() || !fields->is_object()) return;
  for (const auto& [name, value] : fields->items()) {
    if (IsReservedField(name)) continue;
    out.push_back(',');
    AppendJsonString(out, name);
    out.push_back(':');
    out += DumpJson(value);
  }
}

}  // namespace

bool IsReservedField(std::string_view name) {
  return name == "context" || name == "context_summary" || name == "execution_meta";
}

std::string WriteAgentState(const AgentStateParts& parts) {
  size_t size = 512 + parts.fields_json.size();
  for (std::string_view message : parts.messages) size += message.size() + 1;
  std::string out;
  out.reserve(size);
  out += "{\"context\":[";
  for (size_t i = 0; i < parts.messages.size(); ++i) {
    if (i > 0) out.push_back(',');
    out += parts.messages[i];
  }
  out += "],\"context_summary\":";
  if (parts.summary != nullptr && parts.summary->has_value()) {
    AppendJsonString(out, **parts.summary);
  } else {
    out += "null";
  }
  out += ",\"execution_meta\":";
  AppendExecutionMeta(out, *parts.execution, parts.flags, parts.thread_id);
  AppendCustomFields(out, parts.fields_json);
  out.push_back('}');
  return out;
}

std::string AgentStateJson(const state::ThreadState& state) {
  ExecutionMeta execution = ExecutionMeta::FromJson(state.snapshot.execution_json);
  AgentStateParts parts;
  if (state.in_flight) {
    execution.current_node = state.in_flight->current_node;
    if (execution.current_node.empty()) execution.current_node = "START";
    execution.step = state.in_flight->step;
    parts.flags = {true, state.in_flight->stop_requested, state.in_flight->queued_runs};
  }
  parts.thread_id = state.record.thread_id;
  parts.messages.reserve(state.window.size());
  for (const state::StoredMessage& message : state.window) parts.messages.push_back(message.json);
  parts.summary = &state.snapshot.summary;
  parts.fields_json = state.snapshot.fields_json;
  parts.execution = &execution;
  return WriteAgentState(parts);
}

}  // namespace agent_graph::run
